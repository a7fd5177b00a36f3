"""The compiled kernels and their twins give the same outcomes and columns for any bytes, sound or mutated."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from octavo.kernels.columns import BinaryColumn, RecordColumns
from octavo.kernels.layout import BATCH, BATCH_OVERHEAD, CODEC_MASK, Code, Column, Flaw, Stop
from tests.golden import strings
from tests.kernels.hand_made import batch, content, message, record, table_of
from tests.kernels.implementations import both

INT64 = st.integers(-(2**63), 2**63 - 1)
EDGES = st.sampled_from([0, 1, -1, 13, 14, 60, 61, 127, 128, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)])
FIELD = st.none() | st.binary(max_size=20)
HEADERS = st.lists(st.tuples(st.binary(max_size=5), FIELD), max_size=3).map(tuple)
RECORDS = st.builds(record, st.integers(-(2**31), 2**31 - 1) | st.integers(0, 9), FIELD, FIELD, HEADERS, delta_ms=INT64)
BATCHES = st.builds(
    lambda records, wrong, **fields: batch(b"".join(records), len(records) + wrong, **fields),
    st.lists(RECORDS, max_size=5),
    st.sampled_from([0, 0, 0, 0, 1, -1, 2**31 - 7]),
    base_offset=INT64 | EDGES,
    base_timestamp=INT64 | EDGES,
    max_timestamp=INT64,
    attributes=st.sampled_from([0, 0, 0, 8, 16, 32, 64, 1, -(2**15)]),
)
MESSAGES = st.builds(
    message,
    INT64 | st.integers(0, 5),
    FIELD,
    FIELD,
    magic=st.sampled_from([0, 1]),
    timestamp=INT64,
    attributes=st.sampled_from([0, 0, 0, 8, 1]),
)
ENTRIES = st.one_of(BATCHES, MESSAGES, st.sampled_from(list(strings.EVERYTHING.values())))
CHANGES = st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=6)
TAILS = st.sampled_from([b"", b"\0", b"\0" * 40, b"\xff" * 17, b"\xff" * 70, strings.BATCHES["horizon"][:50]])


def mutated(data: bytes, changes: list[tuple[int, int]]) -> bytes:
    changed = bytearray(data)
    for position, value in changes if data else ():
        changed[position % len(data)] = value
    return bytes(changed)


def walk(kernels: SimpleNamespace, data: bytes, rows: int, check_crc: bool) -> tuple[NDArray[np.void], int, Stop]:
    table = np.zeros(rows, BATCH)
    filled, position, stop = kernels.walk(data, 0, len(data), table, check_crc)
    return table[:filled], position, stop


@given(st.lists(ENTRIES, max_size=6).map(b"".join), TAILS, CHANGES, st.integers(0, 8), st.booleans())
@settings(max_examples=300)
def test_walks_agree(data: bytes, tail: bytes, changes: list[tuple[int, int]], rows: int, check_crc: bool) -> None:
    data = mutated(data + tail, changes)
    compiled, reference = (walk(kernels, data, rows, check_crc) for kernels in both())
    assert compiled[0].tolist() == reference[0].tolist()
    assert compiled[1:] == reference[1:]


ROOM = st.tuples(st.integers(0, 12), st.integers(0, 300), st.integers(0, 8), st.integers(0, 40))


def decode_all(
    kernels: SimpleNamespace,
    data: bytes,
    table: NDArray[np.void],
    room: tuple[int, int, int, int],
    wanted: int,
    **bounds: Any,
) -> list[Any]:
    """Everything that happens when each batch is decoded, damaged ones are skipped, and full columns grow."""
    out = RecordColumns.empty(*room)
    index, events = 0, []
    while index < len(table):
        outcome = kernels.decode_records(data, table, index, out, wanted, **bounds)
        events.append((outcome, content(out, wanted)))
        index = outcome[1]
        if outcome[0] == Code.FULL:
            out.grow(min(int(table["count"][index]), 100), len(data), 100, 1000)
        elif outcome[0] != Code.DONE:
            index += 1
    return events


@given(st.lists(BATCHES, min_size=1, max_size=4), CHANGES, ROOM, st.integers(0, 63))
@settings(max_examples=300)
def test_decodes_agree(
    entries: list[bytes], changes: list[tuple[int, int]], room: tuple[int, int, int, int], wanted: int
) -> None:
    whole, table = table_of(*entries)
    data = mutated(whole, changes)
    compiled, reference = (decode_all(kernels, data, table, room, wanted) for kernels in both())
    assert compiled == reference


@given(st.lists(BATCHES, min_size=1, max_size=4), CHANGES, st.integers(0, 63))
def test_decodes_of_what_a_walk_found_agree(entries: list[bytes], changes: list[tuple[int, int]], wanted: int) -> None:
    """Counts, offsets and sizes of the table are mutated here too."""
    data = mutated(b"".join(entries), changes)
    table = walk(both()[1], data, 10, False)[0]
    table = table[(table["magic"] == 2) & (table["flaws"] & Flaw.TOO_SHORT == 0)]
    compiled, reference = (decode_all(kernels, data, table, (50, 2000, 20, 200), wanted) for kernels in both())
    assert compiled == reference


@given(st.lists(RECORDS, max_size=4), CHANGES, st.integers(0, 300), st.integers(0, 300), st.integers(0, 5))
def test_decodes_of_records_elsewhere_agree(
    records: list[bytes], changes: list[tuple[int, int]], one: int, other: int, count: int
) -> None:
    data = mutated(b"".join(records), changes)
    start, end = sorted((min(one, len(data)), min(other, len(data))))
    _, table = table_of(batch(b"", count, base_offset=5), batch(b"", len(records)))
    bounds = {"starts": np.array([start, 0]), "ends": np.array([end, len(data)])}
    compiled, reference = (decode_all(kernels, data, table, (5, 500, 0, 0), Column.ALL, **bounds) for kernels in both())
    assert compiled == reference


SET_OPTIONS = st.fixed_dictionaries(
    {
        "check_crc": st.booleans(),
        "relative": st.booleans(),
        "wrapper_offset": INT64 | st.integers(0, 9),
        "timestamp": st.none() | INT64,
    }
)


@given(st.lists(MESSAGES, max_size=5).map(b"".join), TAILS, CHANGES, ROOM, st.integers(0, 63), SET_OPTIONS)
@settings(max_examples=300)
def test_decodes_of_message_sets_agree(
    data: bytes,
    tail: bytes,
    changes: list[tuple[int, int]],
    room: tuple[int, int, int, int],
    wanted: int,
    options: dict[str, Any],
) -> None:
    data = mutated(data + tail, changes)
    results: list[Any] = []
    for kernels in both():
        out = RecordColumns.empty(*room)
        first = kernels.decode_messages(data, 0, len(data), out, wanted, **options)
        once = content(out, wanted)
        out.grow(10, len(data))
        results.append((first, once, kernels.decode_messages(data, 0, len(data), out, wanted, **options)))
        results[-1] += (content(out, wanted),)
    assert results[0] == results[1]


BINARIES = st.builds(
    lambda values, moves, bits: moved(values, moves, bits),
    st.lists(st.binary(max_size=10), max_size=6),
    st.lists(st.tuples(st.integers(0, 6), st.integers(-2, 70)), max_size=1),
    st.none() | st.integers(0, 255),
)


def moved(values: list[bytes], moves: list[tuple[int, int]], bits: int | None) -> BinaryColumn:
    """A column, occasionally with a wrong offset."""
    offsets = np.cumsum([0, *map(len, values)]).astype(np.int32)
    for index, value in moves:
        offsets[index % len(offsets)] = value
    validity = None if bits is None else np.array([bits], np.uint8)
    return BinaryColumn(offsets, np.frombuffer(b"".join(values), np.uint8), validity)


COLUMNS = st.builds(
    RecordColumns,
    offset=st.lists(st.integers(0, 9) | INT64, min_size=3, max_size=6).map(lambda v: np.array(v, np.int64)),
    timestamp=st.lists(INT64, min_size=3, max_size=6).map(lambda v: np.array(v, np.int64)),
    key=st.none() | BINARIES,
    value=st.none() | BINARIES,
    header_offsets=st.none()
    | st.lists(st.integers(0, 4), min_size=4, max_size=7).map(lambda v: np.array(sorted(v), np.int32)),
    header_key=st.none() | BINARIES,
    header_value=st.none() | BINARIES,
    rows=st.integers(0, 3),
)


def attempt(function: Any, *arguments: Any) -> Any:
    """The result, or None if the arguments are refused."""
    try:
        return function(*arguments)
    except ValueError:
        return None


@given(COLUMNS, st.integers(-1, 4), st.integers(0, 7), INT64 | st.just(0), INT64, st.integers(0, 150))
@settings(max_examples=300)
def test_encoded_records_agree(
    columns: RecordColumns, first: int, end: int, base_offset: int, base_timestamp: int, room: int
) -> None:
    results: list[Any] = []
    for kernels in both():
        out = bytearray(room)
        result = attempt(kernels.encode_records, columns, first, end, base_offset, base_timestamp, out, 0)
        results.append((result, out[: result[1]] if result else b""))
    assert results[0] == results[1]


@given(COLUMNS, st.integers(-1, 4), st.lists(st.integers(-1, 3), max_size=3), st.integers(0, 400), st.integers(0, 70))
@settings(max_examples=300)
def test_encoded_batches_agree(columns: RecordColumns, row: int, counts: list[int], room: int, at: int) -> None:
    results: list[Any] = []
    for kernels in both():
        out, table = bytearray(room), np.zeros(len(counts), BATCH)
        table["count"], table["attributes"], table["max_timestamp"] = counts, -1 & ~CODEC_MASK, 2**63 - 1
        result = attempt(kernels.encode_batches, columns, row, table, out, at)
        written = bytes(out[at : result[2]]) if result else b""
        results.append((result, written, table.tolist()))
        if written:
            assert len(written) >= BATCH_OVERHEAD
            assert not walk(kernels, written, 5, True)[0]["flaws"].any()
    assert results[0] == results[1]
