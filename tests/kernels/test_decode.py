"""v2 records to columns: golden bytes, every code that a decode can end with, arithmetic, projections."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from octavo.kernels.columns import RecordColumns
from octavo.kernels.layout import BATCH_OVERHEAD, LOG_APPEND_TIME, Code, Column, Outcome
from tests.golden.strings import BATCHES, TS0
from tests.kernels.hand_made import batch, content, record, sized, table_of, varint


def decode(kernels: SimpleNamespace, *entries: bytes, wanted: int = Column.ALL) -> tuple[Outcome, dict[str, Any]]:
    data, table = table_of(*entries)
    out = RecordColumns.empty(1000, 10_000, 1000, 10_000)
    outcome = kernels.decode_records(data, table, 0, out, wanted)
    return outcome, content(out, wanted)


def test_a_golden_batch_becomes_columns(kernels: SimpleNamespace) -> None:
    outcome, columns = decode(kernels, BATCHES["transactional"])
    assert outcome == (Code.DONE, 1, 0, 0)
    assert columns == {
        "rows": 3,
        "offset": [100, 101, 102],
        "timestamp": [TS0, TS0 + 5, TS0 - 1],
        "key": [b"k", None, b"k"],
        "value": [b"v1", b"v2", None],
        "header_offsets": [0, 2, 2, 2],
        "header_key": [b"h", b"n"],
        "header_value": [b"x", None],
    }


def test_golden_batches_one_after_another_fill_the_same_columns(kernels: SimpleNamespace) -> None:
    names = ("transactional", "commit", "empty", "horizon", "horizon_v0", "appended")
    outcome, columns = decode(kernels, *(BATCHES[name] for name in names))
    assert outcome == (Code.DONE, len(names), 0, 0)
    assert columns["offset"] == [100, 101, 102, 50, 101, 10, 10]
    assert columns["timestamp"] == [TS0, TS0 + 5, TS0 - 1, TS0, TS0 - 1, -1, TS0 + 7]
    assert columns["key"] == [b"k", None, b"k", bytes.fromhex("00000001"), b"k", b"k", b"k"]
    assert columns["value"] == [b"v1", b"v2", None, bytes.fromhex("000000000009"), None, None, b"v1"]


# (code, records, count, position counted from the first record, found)
PROBLEMS = {
    "length without an end": (Code.BROKEN_VARINT, b"\x80\x80\x80\x80\x80\x01" * 2, 1, 0, 0),
    "length that the end of the data cuts off": (Code.BROKEN_VARINT, record() + b"\xff" * 6, 2, 9, 0),
    "timestamp of eleven groups": (Code.BROKEN_VARINT, sized(b"\0" + b"\x80" * 10 + b"\1" + b"\0" * 4), 1, 2, 0),
    "timestamp beyond the record": (Code.BROKEN_VARINT, sized(b"\0\x80") + b"\0" * 9, 1, 2, 0),
    "no timestamp": (Code.BROKEN_VARINT, sized(b"\0") + b"\0" * 9, 1, 2, 0),
    "offset delta of six groups": (Code.BROKEN_VARINT, sized(b"\0\0" + b"\x80" * 5 + b"\1" + b"\0" * 4), 1, 3, 0),
    "no offset delta": (Code.BROKEN_VARINT, sized(b"\0\0") + b"\0" * 9, 1, 3, 0),
    "no key length": (Code.BROKEN_VARINT, sized(b"\0\0\0") + b"\0" * 9, 1, 4, 0),
    "no value length": (Code.BROKEN_VARINT, sized(b"\0\0\0\0") + b"\0" * 9, 1, 5, 0),
    "no header count": (Code.BROKEN_VARINT, sized(b"\0\0\0\0\0") + b"\0" * 9, 1, 6, 0),
    "empty record": (Code.RECORD_BEYOND_END, varint(0) + b"\0" * 9, 1, 0, 0),
    "record of -1 bytes": (Code.RECORD_BEYOND_END, varint(-1) + b"\0" * 9, 1, 0, -1),
    "record beyond the end": (Code.RECORD_BEYOND_END, record() + varint(9) + b"\0" * 8, 2, 9, 9),
    "largest length": (Code.RECORD_BEYOND_END, varint(2**31 - 1) + b"\0" * 9, 1, 0, 2**31 - 1),
    "smallest length": (Code.RECORD_BEYOND_END, varint(-(2**31)) + b"\0" * 9, 1, 0, -(2**31)),
    "bytes after the headers": (Code.RECORD_LENGTH_MISMATCH, sized(b"\0" * 6 + b"abc"), 1, 7, 3),
    "bytes after the last header": (Code.RECORD_LENGTH_MISMATCH, sized(b"\0" * 5 + b"\2\0\0xy"), 1, 9, 2),
    "key beyond its record": (Code.KEY_BEYOND_RECORD, sized(b"\0\0\0" + varint(3) + b"ab"), 1, 4, 3),
    "largest key": (Code.KEY_BEYOND_RECORD, sized(b"\0\0\0" + varint(2**31 - 1)), 1, 4, 2**31 - 1),
    "value beyond its record": (Code.VALUE_BEYOND_RECORD, sized(b"\0\0\0\1" + varint(3) + b"ab"), 1, 5, 3),
    "-1 headers": (Code.NEGATIVE_HEADER_COUNT, sized(b"\0\0\0\0\0" + varint(-1)), 1, 6, -1),
    "more headers than bytes": (Code.TOO_MANY_HEADERS, sized(b"\0\0\0\0\0" + varint(4) + b"\0\0\0"), 1, 6, 4),
    "header key of -1 bytes": (Code.NEGATIVE_HEADER_KEY, sized(b"\0" * 5 + b"\2\1\0"), 1, 7, -1),
    "header key beyond the record": (Code.HEADER_BEYOND_RECORD, sized(b"\0" * 5 + b"\2\4x"), 1, 7, 2),
    "header value beyond the record": (Code.HEADER_BEYOND_RECORD, sized(b"\0" * 5 + b"\2\2x\4y"), 1, 9, 2),
    "header without a key": (Code.BROKEN_VARINT, sized(b"\0" * 5 + b"\4\0\0\0\x80"), 1, 10, 0),
    "header without a value": (Code.BROKEN_VARINT, sized(b"\0" * 5 + b"\2\2x"), 1, 9, 0),
    "one record more than declared": (Code.TRAILING_BYTES, record() * 3, 2, 18, 9),
    "-1 records": (Code.NEGATIVE_COUNT, record(), -1, 0, -1),
    "smallest count": (Code.NEGATIVE_COUNT, record(), -(2**31), 0, -(2**31)),
    "more records than bytes": (Code.TOO_MANY_RECORDS, b"\0" * 13, 2, 0, 2),
    "largest count": (Code.TOO_MANY_RECORDS, record(), 2**31 - 1, 0, 2**31 - 1),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("wanted", [Column.ALL, Column(0)], ids=["all", "check"])
def test_every_problem_ends_the_decode_with_its_code(kernels: SimpleNamespace, name: str, wanted: Column) -> None:
    """The sound batch before the damaged one stays, nothing of the damaged one does, and the next one is not read."""
    code, records, count, position, found = PROBLEMS[name]
    sound = batch(record(1, None, None, ((b"h", None),)), 1)
    outcome, columns = decode(kernels, sound, batch(records, count), sound, wanted=wanted)
    assert outcome == (code, 1, len(sound) + BATCH_OVERHEAD + position, found)
    _, alone = decode(kernels, sound, wanted=wanted)
    assert columns == alone


def test_the_problems_are_all_that_a_decode_can_end_with() -> None:
    """DONE and FULL have their own tests; the other codes are for message sets and encoding."""
    elsewhere = set(Code) - {problem[0] for problem in PROBLEMS.values()}
    of_messages = {Code.MESSAGE_TOO_SMALL, Code.MESSAGE_CRC_MISMATCH, Code.NESTED_COMPRESSION, Code.EMPTY_MESSAGE_SET}
    of_messages |= {Code.OFFSET_BELOW_INNER, Code.FIELD_BEYOND_MESSAGE}
    assert elsewhere == {Code.DONE, Code.FULL, Code.DELTA_OUT_OF_RANGE} | of_messages


def test_nothing_is_read_after_the_header_of_an_empty_batch(kernels: SimpleNamespace) -> None:
    outcome, columns = decode(kernels, batch(b"garbage that Kafka does not look at", 0))
    assert outcome == (Code.DONE, 1, 0, 0)
    assert columns["rows"] == 0


def test_null_is_not_empty(kernels: SimpleNamespace) -> None:
    entries = record(0, None, b""), record(1, b"", None), record(2, b"", b"", ((b"", b""), (b"", None)))
    _, columns = decode(kernels, batch(b"".join(entries), 3))
    assert columns["key"] == [None, b"", b""]
    assert columns["value"] == [b"", None, b""]
    assert columns["header_key"] == [b"", b""]
    assert columns["header_value"] == [b"", None]


@pytest.mark.parametrize("length", [-2, -100, -(2**31)])
def test_any_negative_length_is_null(kernels: SimpleNamespace, length: int) -> None:
    body = b"\0\0\0" + varint(length) + varint(length) + varint(1) + b"\2h" + varint(length)
    outcome, columns = decode(kernels, batch(sized(body), 1))
    assert outcome[0] == Code.DONE
    assert (columns["key"], columns["value"], columns["header_value"]) == ([None], [None], [None])


def test_attributes_of_a_record_are_never_read(kernels: SimpleNamespace) -> None:
    assert decode(kernels, batch(sized(b"\xff\0\0\0\0\0"), 1))[0][0] == Code.DONE


def test_varints_need_not_be_minimal(kernels: SimpleNamespace) -> None:
    """Five groups have room for 35 bits, ten for 70: those above the 32nd or the 64th are dropped, as in Kafka."""
    wide_one = b"\x82\x80\x80\x80\x70"  # 1, and bits above the 32nd
    widest_one = b"\x82" + b"\x80" * 8 + b"\x7e"
    body = (
        b"\0" + widest_one + wide_one + wide_one + b"k" + wide_one + b"v" + wide_one + wide_one + b"h" + wide_one + b"x"
    )
    outcome, columns = decode(kernels, batch(sized(body), 1))
    assert outcome[0] == Code.DONE
    assert (columns["timestamp"], columns["offset"]) == ([1], [1])
    assert (columns["key"], columns["value"]) == ([b"k"], [b"v"])
    assert (columns["header_key"], columns["header_value"]) == ([b"h"], [b"x"])


def test_offsets_and_timestamps_wrap_around(kernels: SimpleNamespace) -> None:
    """Java's arithmetic: an overflow is never an error."""
    top, low = 2**63 - 1, -(2**63)
    up = batch(record(2**31 - 1, delta_ms=top), 1, base_offset=top, base_timestamp=top)
    down = batch(record(-(2**31), delta_ms=low), 1, base_offset=low, base_timestamp=low)
    _, columns = decode(kernels, up, down)
    assert columns["offset"] == [low + 2**31 - 2, top - 2**31 + 1]
    assert columns["timestamp"] == [-2, 0]


def test_log_append_time_overrules_unless_the_stored_time_is_asked_for(kernels: SimpleNamespace) -> None:
    entry = batch(record(delta_ms=5), 1, attributes=LOG_APPEND_TIME, base_timestamp=100, max_timestamp=777)
    assert decode(kernels, entry)[1]["timestamp"] == [777]
    assert decode(kernels, entry, wanted=Column.TIMESTAMP)[1]["timestamp"] == [777]
    stored = Column.TIMESTAMP | Column.STORED_TIMESTAMP
    assert decode(kernels, entry, wanted=stored)[1]["timestamp"] == [105]


@pytest.mark.parametrize("wanted", range(64))
def test_every_projection_gives_the_same_columns(kernels: SimpleNamespace, wanted: int) -> None:
    entries = (BATCHES["transactional"], BATCHES["appended"], batch(record(3, b"key", None, ((b"a", b"b"),)) * 20, 20))
    _, whole = decode(kernels, *entries, wanted=Column.ALL | wanted & Column.STORED_TIMESTAMP)
    data, table = table_of(*entries)
    out = RecordColumns.empty(30, 1000, 30, 1000, columns=Column(wanted))
    assert kernels.decode_records(data, table, 0, out, wanted) == (Code.DONE, 3, 0, 0)
    projected = content(out, wanted)
    assert projected == {name: whole[name] for name in projected}


def test_records_may_lie_elsewhere(kernels: SimpleNamespace) -> None:
    """Decompressed records are decoded from their own buffer, as `starts` and `ends` say."""
    _, table = table_of(batch(b"packed", 2, base_offset=10), batch(b"", 1, base_offset=20), batch(b"", 0))
    first, second = record(0, b"a") + record(1, b"b"), record(0, b"c")
    data = b"--" + first + b"-" + second
    starts = np.array([2, 3 + len(first), 0])
    ends = np.array([2 + len(first), len(data), 0])
    out = RecordColumns.empty(10, 100)
    assert kernels.decode_records(data, table, 0, out, Column.ALL, starts, ends) == (Code.DONE, 3, 0, 0)
    assert content(out)["offset"] == [10, 11, 20]
    assert content(out)["key"] == [b"a", b"b", b"c"]
    out.reset()
    assert kernels.decode_records(data, table, 1, out, Column.ALL, starts[:2], ends) == (Code.DONE, 2, 0, 0)
    assert content(out)["offset"] == [20]
    ends[0] -= 1
    problem = kernels.decode_records(data, table, 0, out, Column.ALL, starts, ends)
    assert problem == (Code.RECORD_BEYOND_END, 0, 2 + len(record(0, b"a")), 8)
