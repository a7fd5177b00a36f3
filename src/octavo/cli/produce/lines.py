"""Reads records from lines of text, by the rules of Kafka's console producer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

from octavo.config.kinds import BOOLEAN
from octavo.errors import EncodingError, OctavoError


class InputError(OctavoError):
    """A line is not a record in the given format, or a property of the format is invalid."""


class Input(NamedTuple):
    """A record that was read. If its partition or timestamp is None, the producer chooses one; a key or value that is
    None is null."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None
    timestamp: int | None = None
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LineForm:
    """The format of a line: headers TAB key TAB value; by default only the value."""

    parse_key: bool = False
    key_separator: str = "\t"
    parse_headers: bool = False
    headers_delimiter: str = "\t"
    headers_separator: str = ","
    headers_key_separator: str = ":"
    null_marker: str | None = None

    @classmethod
    def of(cls, properties: Mapping[str, str], key_separator: str | None) -> Self:
        """The format given by the console producer's properties; a given separator implies keys."""
        known = {name.replace("_", "."): name for name in cls.__slots__}
        values: dict[str, str | bool] = {}
        for name, text in properties.items():
            if name not in known:
                raise InputError(f"unknown property {name}; expected one of {', '.join(sorted(known))}")
            try:
                values[known[name]] = bool(BOOLEAN.parse(text)) if name.startswith("parse.") else text
            except ValueError:
                raise InputError(f"{name} is {text!r}, expected true or false") from None
        if key_separator == "":
            raise InputError("--key-separator is '', expected at least one character")
        if key_separator is not None:
            values |= {"parse_key": True, "key_separator": key_separator}
        for name, attribute in known.items():
            if values.get(attribute) == "" and name != "null.marker":
                raise InputError(f"{name} is '', expected at least one character")
        return cls(**values)  # type: ignore[arg-type]


def read_lines(lines: Iterable[bytes], form: LineForm) -> Iterator[Input]:
    """One record per line; the line's end (LF, or CR LF) is not part of it."""
    null = None if form.null_marker is None else form.null_marker.encode()
    delimiter, separator = form.headers_delimiter.encode(), form.key_separator.encode()

    def content(text: bytes) -> bytes | None:
        return None if text == null else text

    for number, line in enumerate(lines, 1):
        rest = line.removesuffix(b"\n").removesuffix(b"\r")
        headers: tuple[tuple[str, bytes | None], ...] = ()
        key = None
        if form.parse_headers:
            text, rest = _cut(rest, delimiter, number, "headers")
            if text != null:
                headers = tuple(_headers(text, form, number))
        if form.parse_key:
            text, rest = _cut(rest, separator, number, "a key")
            key = content(text)
        yield Input(key, content(rest), headers, line=number)


def _cut(text: bytes, at: bytes, number: int, what: str) -> tuple[bytes, bytes]:
    first, sign, rest = text.partition(at)
    if not sign:
        raise InputError(f"line {number}: no {at.decode()!r}, expected one after {what}")
    return first, rest


def _headers(text: bytes, form: LineForm, number: int) -> Iterator[tuple[str, bytes | None]]:
    null = None if form.null_marker is None else form.null_marker.encode()
    for pair in text.split(form.headers_separator.encode()):
        key, value = _cut(pair, form.headers_key_separator.encode(), number, "a header's key")
        try:
            yield key.decode("utf-8"), None if value == null else value
        except UnicodeDecodeError:
            raise EncodingError(f"line {number}: header key {key!r} is not UTF-8") from None
