"""The vocabulary of message schemas: versions, types, fields, structs, messages.

It mirrors the JSON definitions from which Kafka generates its message classes. A schema is data: reading, writing and
printing derive from it (`codec`, `json_form`). Fields, including tagged ones, keep the order of Kafka's definition.
Schemas are written as text (`notation`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any, Final, NamedTuple

from octavo.format.kafka_uuid import ZERO_UUID

Row = dict[str, Any]
"""A struct's value: maps field names to plain values (int, float, bool, str, bytes, list, Row, None; uuid = 16
bytes)."""

UNKNOWN_TAGS: Final = "_unknownTaggedFields"
"""The key for tags that a row's schema doesn't know, as `{tag: bytes}`; absent if there are none."""

_NEWEST = 0x7FFF


@dataclass(frozen=True)
class Versions:
    """A range of versions, both ends inclusive; empty if the lowest is above the highest."""

    lowest: int
    highest: int

    @classmethod
    def parse(cls, text: str) -> Versions:
        """Parse Kafka's notation: `none`, `3`, `0-4`, `3+`."""
        if text == "none":
            return NO_VERSIONS
        if text.endswith("+"):
            return cls(int(text[:-1]), _NEWEST)
        lowest, _, highest = text.partition("-")
        return cls(int(lowest), int(highest or lowest))

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.lowest <= version <= self.highest

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.lowest, self.highest + 1))

    def nearest(self, version: int) -> int:
        """The known version that Kafka's reader uses for this one when it does not check the version."""
        return max(self.lowest, min(version, self.highest))

    def __str__(self) -> str:
        if self.lowest > self.highest:
            return "none"
        if self.highest == _NEWEST:
            return f"{self.lowest}+"
        return str(self.lowest) if self.lowest == self.highest else f"{self.lowest}-{self.highest}"


ALL_VERSIONS: Final = Versions(0, _NEWEST)
NO_VERSIONS: Final = Versions(0, -1)


@dataclass(frozen=True)
class Primitive:
    """A type without parts. `layout` is its `struct` format if its size is fixed, otherwise None."""

    name: str
    layout: str | None
    default: bool | int | float | str | bytes


BOOL: Final = Primitive("bool", "?", False)
INT8: Final = Primitive("int8", "b", 0)
INT16: Final = Primitive("int16", "h", 0)
UINT16: Final = Primitive("uint16", "H", 0)
INT32: Final = Primitive("int32", "i", 0)
UINT32: Final = Primitive("uint32", "I", 0)
INT64: Final = Primitive("int64", "q", 0)
FLOAT64: Final = Primitive("float64", "d", 0.0)
UUID: Final = Primitive("uuid", "16s", ZERO_UUID)
STRING: Final = Primitive("string", None, "")
BYTES: Final = Primitive("bytes", None, b"")
RECORDS: Final = Primitive("records", None, b"")

PRIMITIVES: Final = {
    kind.name: kind for kind in (BOOL, INT8, INT16, UINT16, INT32, UINT32, INT64, FLOAT64, UUID, STRING, BYTES, RECORDS)
}


@dataclass(frozen=True)
class Array:
    """A list; Kafka has no arrays of arrays, and encodes its map-like arrays (mapKey) like any other."""

    element: Primitive | Struct


@dataclass(frozen=True)
class Struct:
    """A named group of fields; versions of its fields refer to the enclosing message."""

    name: str
    fields: tuple[Field, ...]


Type = Primitive | Array | Struct


class _Natural:
    """Marks a field that has its type's default: zero, empty, or a struct of defaults."""

    def __repr__(self) -> str:
        return "NATURAL"


NATURAL: Final = _Natural()


@dataclass(frozen=True)
class Field:
    """One field of a struct or message."""

    name: str
    type: Type
    versions: Versions = ALL_VERSIONS
    nullable: Versions = NO_VERSIONS
    tag: int | None = None
    tagged: Versions = NO_VERSIONS
    # overrides the message's flexible versions: a request header's clientId never becomes compact
    flexible: Versions | None = None
    ignorable: bool = False  # a value that the version cannot hold is silently dropped, not refused
    declared_default: bool | int | float | str | _Natural | None = NATURAL

    def default(self) -> Any:
        """The value of an absent field; a new object each time if it is mutable."""
        if not isinstance(self.declared_default, _Natural):
            return self.declared_default
        if isinstance(self.type, Primitive):
            return self.type.default
        return [] if isinstance(self.type, Array) else {part.name: part.default() for part in self.type.fields}


@dataclass(frozen=True, eq=False)
class MessageSchema:
    """A schema with its valid versions and its flexible ones; compared by identity."""

    name: str
    versions: Versions
    flexible: Versions
    fields: tuple[Field, ...] = dataclass_field(repr=False)


class Encoding(NamedTuple):
    """The version for which a coder is built, and whether that version is flexible.

    `lenient` readers accept damaged bytes that Kafka's own readers accept: see `codec.decode_prefix`.
    """

    version: int
    flexible: bool
    lenient: bool = False

    def is_compact(self, part: Field) -> bool:
        """Whether this field's own lengths are compact."""
        return self.flexible if part.flexible is None else self.version in part.flexible
