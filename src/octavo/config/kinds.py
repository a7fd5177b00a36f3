"""Kafka's config types: how text becomes a value, and a value becomes text.

The rules are those of Kafka's ConfigDef: surrounding blanks are ignored, numbers are decimal and must fit their width,
`true` and `false` may be in upper or lower case, and list elements are separated by commas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

ConfigValue = int | float | bool | str | tuple[str, ...] | None
# What a caller may give: text as in a properties file, or the value itself.
Given = str | int | float | bool | Sequence[str]

# The largest values of INT and LONG.
MAX_INT, MAX_LONG = 2**31 - 1, 2**63 - 1

# The characters that Java's String.trim removes.
_BLANKS = "".join(map(chr, range(0x21)))
_INTEGER = re.compile(r"[+-]?\d+")
_DOUBLE = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[dDfF]?")
_COMMA = re.compile(r"\s*,\s*", re.ASCII)


@dataclass(frozen=True)
class ConfigType:
    """A type, with Kafka's name for it; `read` raises ValueError for text that is not such a value."""

    name: str
    read: Callable[[str], ConfigValue]
    expected: str

    def parse(self, given: Given) -> ConfigValue:
        return self.read(as_text(given).strip(_BLANKS))


def as_text(value: Given | None) -> str:
    """A value as in a properties file: a list joined by commas, None as `null`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    return ",".join(value)


def _integer(bits: int) -> Callable[[str], int]:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def read(text: str) -> int:
        if not _INTEGER.fullmatch(text) or not low <= int(text) <= high:
            raise ValueError(text)
        return int(text)

    return read


def _double(text: str) -> float:
    # Unlike Kafka, no NaN: it passes Kafka's range checks, but every comparison with it is false. With a dirty ratio of
    # NaN nothing would ever be cleaned.
    number = _DOUBLE.fullmatch(text)
    if number is None:
        raise ValueError(text)
    return float(number[1])


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _list(text: str) -> tuple[str, ...]:
    # Kafka drops repeated elements; empty text is an empty list, not a list with one empty element.
    return tuple(dict.fromkeys(_COMMA.split(text))) if text else ()


INT = ConfigType("INT", _integer(32), "an integer of 32 bits")
LONG = ConfigType("LONG", _integer(64), "an integer of 64 bits")
DOUBLE = ConfigType("DOUBLE", _double, "a decimal number")
BOOLEAN = ConfigType("BOOLEAN", _boolean, "true or false")
STRING = ConfigType("STRING", str, "text")
LIST = ConfigType("LIST", _list, "elements separated by commas")
PASSWORD = ConfigType("PASSWORD", str, "text")  # never shown
