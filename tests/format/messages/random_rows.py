"""Random values for any schema and version: what a real message could hold, with the edges of each type."""

from __future__ import annotations

import struct
from random import Random
from typing import Any

from octavo.format.messages.schema import (
    BOOL,
    FLOAT64,
    STRING,
    UNKNOWN_TAGS,
    UUID,
    Array,
    Field,
    MessageSchema,
    Primitive,
    Row,
    Struct,
    Type,
)

STRINGS = [
    "",
    "a",
    "group-1",
    "topic.with.dots",
    'quote " and \\ and \n\t\x00\x1f\x7f',
    "größe",
    "日本",
    "😀 ",
    "x" * 200,
]
DOUBLES = [0.0, -0.0, 1.0, -1.5, 0.001, 0.00099, 1234567.0, 1e7, 12345678.9, 1e300, 3.5e-200, 1048576.0]
UNKNOWN_TAG = 1000  # beyond any tag of a schema


def random_row(random: Random, message: MessageSchema, version: int, *, unknown_tags: bool = False) -> Row:
    """A row that the version can hold: every field it has, and no others."""
    return _row(random, message.fields, version, unknown_tags and version in message.flexible)


def _row(random: Random, fields: tuple[Field, ...], version: int, unknown_tags: bool) -> Row:
    row = {part.name: _value(random, part, version, unknown_tags) for part in fields if version in part.versions}
    if unknown_tags and random.random() < 0.3:
        row[UNKNOWN_TAGS] = {
            UNKNOWN_TAG + n: random.randbytes(random.randrange(4)) for n in range(random.randint(1, 3))
        }
    return row


def _value(random: Random, part: Field, version: int, unknown_tags: bool) -> Any:
    if version in part.tagged and random.random() < 0.4:
        return part.default()
    if version in part.nullable and random.random() < 0.3:
        return None
    if isinstance(part.type, Array):
        element = part.type.element
        return [plain_value(random, element, version, unknown_tags) for _ in range(random.choice([0, 1, 1, 2, 3]))]
    return plain_value(random, part.type, version, unknown_tags)


def plain_value(random: Random, kind: Type, version: int, unknown_tags: bool) -> Any:
    """A value of this type, often at an edge of what it can hold."""
    if isinstance(kind, Struct):
        return _row(random, kind.fields, version, unknown_tags)
    assert isinstance(kind, Primitive)
    if kind is BOOL:
        return random.random() < 0.5
    if kind is FLOAT64:
        return random.choice(DOUBLES)
    if kind is UUID:
        return random.choice([bytes(16), random.randbytes(16)])
    if kind is STRING:
        return random.choice(STRINGS)
    if kind.layout is None:
        return random.randbytes(random.choice([0, 1, 5, 130]))
    bits = 8 * struct.calcsize(f">{kind.layout}")
    low, high = (0, (1 << bits) - 1) if kind.layout.isupper() else (-(1 << bits - 1), (1 << bits - 1) - 1)
    return random.choice([low, high, 0, 1, random.randint(low, high)])
