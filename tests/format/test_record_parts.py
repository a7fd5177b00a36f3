"""Records read field by field are those that were encoded; a damaged one raises, after those before it were read."""

from __future__ import annotations

from itertools import pairwise

import pytest

from octavo.errors import InvalidRecordError
from octavo.format.batches.batch import build_batch
from octavo.format.batches.record_parts import BaseValues, read_records, record_parts
from octavo.format.record import Header, Record
from octavo.kernels import layout

RECORDS = [
    Record(100, 1700000000000, b"k", b"v1", (Header("h", b"x"), Header("n", None))),
    Record(101, 1700000000005, None, b""),
    Record(105, 1699999999999, b"", None),
]
BASE = BaseValues(100, 1700000000000)
DATA = memoryview(build_batch(RECORDS))[layout.BATCH_OVERHEAD :]


def readable(data: bytes | memoryview, count: int = 3) -> list[Record]:
    """The records before the error that reading must end with."""
    found: list[Record] = []
    view = memoryview(data)
    with pytest.raises(InvalidRecordError):
        found.extend(read_records(view, 0, len(view), count, BASE))
    return found


def test_the_records_of_a_batch_are_read() -> None:
    assert list(read_records(DATA, 0, len(DATA), 3, BASE)) == RECORDS


def test_log_append_time_replaces_all_timestamps() -> None:
    records = read_records(DATA, 0, len(DATA), 3, BaseValues(100, 1700000000000, log_append_time=7))
    assert [record.timestamp for record in records] == [7, 7, 7]


def test_parts_lie_one_after_another() -> None:
    parts = list(record_parts(DATA, 0, len(DATA)))
    assert parts[0].start == 0
    assert all(one.end == other.start for one, other in pairwise(parts))
    assert [part.name for part in parts] == [
        "length", "attributes", "timestampDelta", "offsetDelta", "keyLength", "key", "valueLength", "value",
        "headersCount", "headerKeyLength", "headerKey", "headerValueLength", "headerValue",
        "headerKeyLength", "headerKey", "headerValueLength", "headerValue",
    ]  # fmt: skip
    assert [part.value for part in parts][4:9] == [1, b"k", 2, b"v1", 2]


def test_the_records_before_the_damage_are_read() -> None:
    assert readable(DATA[:-1]) == RECORDS[:2]
    assert readable(DATA, count=4) == RECORDS
    assert readable(DATA, count=2) == RECORDS[:1]
    assert readable(DATA, count=-1) == []
    assert readable(bytes(DATA) + b"\0") == RECORDS[:2]


@pytest.mark.parametrize(
    ("hex_bytes", "problem"),
    [
        ("02", "a record of 1 byte, which does not fit"),
        ("00", "a record of 0 bytes"),
        ("01", "a record of -1 bytes"),
        ("ffffffffff", "variable-length number"),
        ("0c00000014", "a record of 6 bytes"),
        ("0e000000 1461 0100", "a key of 10 bytes"),
        ("0c000000010201", "the data ends after 0 bytes of a variable-length number"),
        ("0c000000010101", "-1 headers"),
        ("0c00000001010a", "5 headers, more than"),
        ("0e0000000101020100", "header key of -1 bytes"),
        ("0e00000001010202", "a header field of 1 byte reaches beyond the end of its record"),
        ("0e00000001010000", "fields end 1 byte before"),
    ],
)
def test_damage_is_named(hex_bytes: str, problem: str) -> None:
    data = memoryview(bytes.fromhex(hex_bytes))
    with pytest.raises(InvalidRecordError, match=problem):
        list(record_parts(data, 0, len(data)))


def test_with_any_byte_changed_records_are_read_or_refused() -> None:
    for at in range(len(DATA)):
        for value in (0, 1, 2, 0x7F, 0x80, 0xFF):
            data = bytearray(DATA)
            data[at] = value
            try:
                list(read_records(memoryview(data), 0, len(data), 3, BASE))
            except InvalidRecordError as error:
                assert error.position is not None
