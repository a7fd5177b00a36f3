"""The lines of dump-log, from the compiled kernel and from its twin."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.format.batches.row_columns import from_records
from octavo.format.record import Header, Record
from octavo.kernels.columns import RecordColumns
from octavo.kernels.layout import Code
from tests.kernels.implementations import is_there, load

RECORDS = [
    Record(100, 1700000000000, b"k", b"v1", (Header("h", b"x"), Header("n", None))),
    Record(101, -1, None, b"\xed\xa0\x80\xff"),
    Record(-(2**63), 2**63 - 1, b"", None),
]
SEQUENCES = np.array([7, -1, 2**31 - 1], np.int32)
EXPECTED = (
    "| offset: 100 CreateTime: 1700000000000 keySize: 1 valueSize: 2 sequence: 7 headerKeys: [h,n] key: k payload: v1\n"
    "| offset: 101 CreateTime: -1 keySize: -1 valueSize: 4 sequence: -1 headerKeys: [] payload: \ufffd\ufffd\n"
    "| offset: -9223372036854775808 CreateTime: 9223372036854775807 keySize: 0 valueSize: -1 sequence: 2147483647"
    " headerKeys: [] key: \n"
)


def columns_of(records: list[Record]) -> RecordColumns:
    columns = from_records(records)
    if columns.header_offsets is None:
        columns.header_offsets = np.zeros(len(records) + 1, np.int32)
        columns.header_key = from_records([Record(0, 0, b"", b"")]).key
    return columns


def lines(kernels: SimpleNamespace, records: list[Record], metadata: bool, content: bool) -> str:
    out = bytearray(100_000)
    sequences = np.resize(SEQUENCES, len(records)).astype(np.int32)
    code, row, at = kernels.record_lines(
        columns_of(records), 0, len(records), sequences, b"CreateTime", metadata, content, out, 5
    )
    assert (code, row) == (Code.DONE, len(records))
    assert out[:5] == bytes(5)
    return out[5:at].decode()


@pytest.mark.parametrize(
    ("metadata", "content", "expected"),
    [
        (True, True, EXPECTED),
        (False, True, "| key: k payload: v1\n| payload: \ufffd\ufffd\n| key: \n"),
        (False, False, "\n\n\n"),
    ],
)
def test_lines_have_the_parts_that_are_asked_for(
    kernels: SimpleNamespace, metadata: bool, content: bool, expected: str
) -> None:
    assert lines(kernels, RECORDS, metadata, content) == expected


def test_metadata_comes_without_content(kernels: SimpleNamespace) -> None:
    assert [line.rpartition("]")[2] for line in lines(kernels, RECORDS, True, False).splitlines()] == ["", "", ""]


def test_the_lines_end_before_the_row_that_does_not_fit(kernels: SimpleNamespace) -> None:
    columns, whole = columns_of(RECORDS), lines(kernels, RECORDS, True, True)
    out, text, row = bytearray(240), "", 0
    while row < len(RECORDS):
        code, next_row, at = kernels.record_lines(columns, row, 3, SEQUENCES[row:], b"CreateTime", True, True, out, 0)
        assert next_row > row
        assert code == (Code.DONE if next_row == 3 else Code.FULL)
        text, row = text + out[:at].decode(), next_row
    assert text == whole


@pytest.mark.parametrize(
    ("first", "end", "at", "sequences"), [(0, 4, 0, 4), (2, 1, 0, 3), (0, 3, 101, 3), (0, 3, 0, 2)]
)
def test_what_lies_outside_is_refused(kernels: SimpleNamespace, first: int, end: int, at: int, sequences: int) -> None:
    with pytest.raises(ValueError):
        kernels.record_lines(
            columns_of(RECORDS), first, end, np.zeros(sequences, np.int32), b"", True, True, bytearray(100), at
        )


pieces = st.one_of(st.binary(max_size=6), st.text(max_size=4).map(lambda text: text.encode("utf-8", "surrogatepass")))
values = st.none() | st.lists(pieces, max_size=6).map(b"".join)


@pytest.mark.skipif(not is_there("compiled"), reason="the compiled kernels are not built here (no C compiler)")
@given(st.lists(st.tuples(values, values), max_size=8), st.booleans())
def test_both_show_any_bytes_alike(contents: list[tuple[bytes | None, bytes | None]], metadata: bool) -> None:
    records = [Record(offset, 0, key, value) for offset, (key, value) in enumerate(contents)]
    shown = {lines(load(name), records, metadata, True) for name in ("compiled", "reference")}
    assert len(shown) == 1


def test_the_room_for_a_large_value_may_exceed_an_int32(kernels: SimpleNamespace) -> None:
    """Three times the value's bytes, more than an int32 can count, do not fit: nothing is written.

    The memory is reserved but not touched.
    """
    columns = columns_of([Record(0, 0, b"", b"v")])
    assert columns.value is not None
    columns.value.data = np.empty(800_000_000, np.uint8)
    columns.value.offsets[1] = len(columns.value.data)
    out = bytearray(1000)
    assert kernels.record_lines(columns, 0, 1, SEQUENCES, b"CreateTime", True, True, out, 0) == (Code.FULL, 0, 0)
    assert out == bytes(1000)
