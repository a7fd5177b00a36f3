"""Reads the text in Kafka's small files like Java (lines with any platform's line break, fields, whole numbers), and
writes doubles like Java."""

from __future__ import annotations

import re
from decimal import Decimal
from math import isfinite
from typing import NamedTuple

from octavo.errors import CorruptionError

_LINE_BREAK = re.compile(rb"\r\n|\n|\r")
_BLANKS = re.compile(r"[ \t\n\x0b\f\r]+")
_INTEGER = re.compile(r"([+-]?)0*([0-9]+)")


class Line(NamedTuple):
    """A line without its line break, and the position where it begins."""

    position: int
    text: str


def lines(data: bytes) -> list[Line]:
    """The lines of UTF-8 text; a line break at the very end does not begin another line."""
    found = []
    start = 0
    for line_break in _LINE_BREAK.finditer(data):
        found.append(_line(data, start, line_break.start()))
        start = line_break.end()
    if start < len(data):
        found.append(_line(data, start, len(data)))
    return found


def _line(data: bytes, start: int, end: int) -> Line:
    try:
        return Line(start, data[start:end].decode("utf-8"))
    except UnicodeDecodeError as error:
        found = data[start + error.start : start + error.end].hex()
        raise CorruptionError(f"expected UTF-8 text, found bytes {found}", position=start + error.start) from error


def split(text: str, separator: re.Pattern[str] = _BLANKS) -> list[str]:
    """The fields between separators (blanks by default). A separator at the start gives an empty field, one at the end
    does not."""
    fields = separator.split(text)
    while fields and not fields[-1]:
        fields.pop()
    return fields


def parse_integer(text: str, bits: int, position: int | None = None) -> int:
    """A decimal number of 32 or 64 bits with an optional sign and nothing around it."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        raise CorruptionError(f"expected a whole number, found {shortened(text)}", position=position)
    sign, digits = match.groups()
    # No such number has this many digits, and Python refuses to convert thousands of them.
    value = int(sign + digits) if len(digits) < 30 else 1 << bits
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise CorruptionError(f"expected a number that fits in {bits} bits, found {shortened(text)}", position=position)
    return value


def shortened(text: str) -> str:
    """The text as quoted in error messages: shortened, but recognisable."""
    return repr(text if len(text) <= 60 else f"{text[:60]}…")


def double_text(value: float) -> str:
    """A double as Java (19 or later) shows it: shortest digits, with an exponent below 0.001 and from 10,000,000 on."""
    if not isfinite(value):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[repr(value)]
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    short = f"{value:.1e}"  # Java's shortest form has two digits: the smallest double is 4.9E-324, not 5E-324
    exact = Decimal(short if float(short) == value else repr(value))
    mantissa, _, exponent = f"{exact.normalize():E}".partition("E")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"
