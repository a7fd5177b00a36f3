"""The compiled coders of protocol messages give what the plain ones give, for sound and for broken messages."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import pytest

from octavo.errors import OctavoError
from octavo.format.messages.codec import Part, PartsWriter, parts_writer
from octavo.format.messages.notation import message
from octavo.format.messages.plans import struct_plan
from octavo.format.messages.primitive_readers import Reader
from octavo.format.messages.reading import struct_reader
from octavo.format.messages.schema import Encoding, MessageSchema, Row
from octavo.format.messages.writing import struct_writer
from octavo.format.varint import Bytes
from tests.format.messages.random_rows import random_row
from tests.format.messages.tables import VERSIONED, VERSIONED_IDS
from tests.kernels import implementations

ROUNDS = 20
HEAD = b"\0\0\0\0head"
ODD_VALUES: list[Any] = [None, True, 0, -1, 1 << 40, 1 << 80, 1.5, "x", "\ud800", "x" * 40_000, b"y", [], [None], {}]
ODD_VALUES += [{"no such field": 1}, (), bytearray(3), memoryview(b"abcdef")[::2], object()]


class Coders(NamedTuple):
    read: Reader
    write: PartsWriter


def refuse(*_: object, **__: object) -> Any:
    raise AssertionError("the plain coder was asked")


def plain(schema: MessageSchema, version: int) -> Coders:
    encoding = Encoding(version, version in schema.flexible)
    write = struct_writer(schema.fields, encoding, schema.name)
    return Coders(struct_reader(schema.fields, encoding, schema.name), parts_writer(write))


ALONE = Coders(refuse, refuse)


def compiled(schema: MessageSchema, version: int, otherwise: Coders = ALONE) -> Coders:
    kernels = implementations.load("compiled")
    plan = struct_plan(schema.fields, Encoding(version, version in schema.flexible))
    return Coders(kernels.message_reader(plan, otherwise.read), kernels.message_writer(plan, otherwise.write))


def outcome(code: Callable[..., Any], *given: object) -> object:
    try:
        found = code(*given)
    except OctavoError as error:
        return type(error), str(error), vars(error)
    return repr(shown(found[0])), found[1:] if isinstance(found, tuple) else found


def shown(found: object) -> object:
    """A value with the bytes of its views, whose own text has an address that differs from run to run."""
    if isinstance(found, dict):
        return {name: shown(value) for name, value in found.items()}
    if isinstance(found, list):
        return [shown(value) for value in found]
    return ("view", bytes(found)) if isinstance(found, memoryview) else found


@pytest.mark.parametrize(("schema", "version"), VERSIONED, ids=VERSIONED_IDS)
def test_both_give_the_same_rows_bytes_and_errors(schema: MessageSchema, version: int) -> None:
    random = Random(f"{schema.name} {version}")
    simple = plain(schema, version)
    fast = compiled(schema, version, simple)
    for _ in range(ROUNDS):
        row = random_row(random, schema, version, unknown_tags=True)
        parts = simple.write(row)
        assert fast.write(row) == parts
        assert fast.write(row, HEAD) == simple.write(row, HEAD) == with_head(parts)
        data = b"".join(part for part in parts if isinstance(part, bytes))
        damaged = bytearray(data)
        for _ in range(random.randrange(3) if data else 0):
            damaged[random.randrange(len(data))] = random.choice([0, 1, 2, 127, 128, 255])
        for some in (data, data + b"more", bytes(damaged), damaged[: random.randrange(len(data) + 1)]):
            assert outcome(fast.read, some, 0) == outcome(simple.read, some, 0)
        spoil(random, row)
        assert outcome(fast.write, row) == outcome(simple.write, row)


def with_head(parts: list[Part]) -> list[Part]:
    first, *rest = parts
    assert isinstance(first, bytes)
    size = len(HEAD) - 4 + len(first)
    size += sum(len(part) if isinstance(part, Bytes) else part.size for part in rest)
    return [size.to_bytes(4) + HEAD[4:] + first, *rest]


def spoil(random: Random, row: Row) -> None:
    """Replace, remove or add a field, here or deeper."""
    deeper = [value for value in row.values() if isinstance(value, dict)]
    deeper += [item for value in row.values() if isinstance(value, list) for item in value if isinstance(item, dict)]
    if deeper and random.random() < 0.7:
        spoil(random, random.choice(deeper))
    elif row:
        name = random.choice(list(row))
        if random.random() < 0.2:
            del row[name]
        else:
            row[random.choice([name, name, "no such field"])] = random.choice(ODD_VALUES)


EVERYTHING = """
    name    string  nullable
    flags   []int8
    inner   Inner   nullable
        id      uuid
        data    bytes
        ratio   float64
        on      bool
    sizes   []uint16
    later   int32   3+      ignorable
    tagged  []int32 tag=0
"""
ROW: Row = {
    "name": "größe", "flags": [-1, 2], "inner": {"id": bytes(range(16)), "data": b"ab", "ratio": 0.5, "on": True},
    "sizes": [65535], "later": 7, "tagged": [],
}  # fmt: skip


def only(parts: list[Part]) -> bytes:
    (data,) = parts
    assert isinstance(data, bytes)
    return data


@pytest.mark.parametrize("flexible", ["none", "0+"])
def test_usual_messages_need_no_plain_coder(flexible: str) -> None:
    schema = message("M", "0-3", flexible, EVERYTHING)
    for row in (ROW, {**ROW, "name": None, "inner": None}, {}):
        fast = compiled(schema, 0)
        data = only(fast.write(row))
        assert [data] == plain(schema, 0).write(row)
        read, end = fast.read(data, 0)
        assert (read, end) == plain(schema, 0).read(data, 0)
        assert list(read) == list(ROW) and end == len(data)


class FakeSlice(NamedTuple):
    size: int


def test_slices_of_files_stay_as_they_are() -> None:
    schema = message("M", "0", "none", "a int8\nb []B\n    r records\nc records")
    row = {"a": 1, "b": [{"r": FakeSlice(300)}, {"r": b"xy"}], "c": FakeSlice(0)}
    parts: list[Any] = compiled(schema, 0).write(row)
    assert parts == plain(schema, 0).write(row)
    assert parts[1] == FakeSlice(300) and parts[3:] == [FakeSlice(0), b""]


def test_defaults_are_not_shared_between_rows() -> None:
    schema = message("M", "0-1", "0+", "a []int8 1+\nb B tag=0\n    c []int8")
    read = compiled(schema, 0).read
    first, _ = read(b"\0", 0)
    first["a"].append(1)
    first["b"]["c"].append(1)
    assert read(b"\0", 0) == ({"a": [], "b": {"c": []}}, 1)


def test_records_are_a_view_into_the_data() -> None:
    data = bytes.fromhex("000000026162")
    row, _ = compiled(message("M", "0", "none", "f records"), 0).read(data, 0)
    assert isinstance(row["f"], memoryview) and row["f"].obj is data and bytes(row["f"]) == b"ab"
