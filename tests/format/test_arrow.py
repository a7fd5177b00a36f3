"""Columns to Arrow and back: values, nulls, headers, slices, projections, what is refused."""

from __future__ import annotations

import datetime
from functools import reduce
from operator import or_

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import EncodingError
from octavo.format.arrow import FIELDS, from_arrow, to_array
from octavo.format.batches.batch import build_batch
from octavo.format.batches.decoder import Decoder
from octavo.format.batches.row_columns import from_records, to_records
from octavo.format.batches.walker import walk
from octavo.format.record import Header, Record
from octavo.kernels.columns import RecordColumns
from octavo.kernels.layout import Column

RECORDS = [
    Record(5, 1_700_000_000_000, b"k", None, (Header("h", b"x"), Header("n", None))),
    Record(6, 1_700_000_000_001, None, b"\xff\x00"),
    Record(9, -1, b"", b"", (Header("", b""),)),
]


def to_arrow(columns: RecordColumns, *names: str) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [to_array(columns, name) for name in names], schema=pa.schema([FIELDS[name] for name in names])
    )


def as_arrow(records: list[Record], *names: str) -> pa.RecordBatch:
    data = build_batch(records)
    wanted = reduce(or_, (Column[name.upper()] for name in names))
    (filled,) = Decoder(wanted).decode(data, walk(data).table)
    batch = to_arrow(filled, *names)
    return pa.RecordBatch.from_pylist(batch.to_pylist(), batch.schema)


def test_each_column_holds_its_values() -> None:
    batch = as_arrow(RECORDS, *FIELDS)
    batch.validate(full=True)
    assert batch.schema.names == ["offset", "timestamp", "key", "value", "headers"]
    assert batch["offset"].to_pylist() == [5, 6, 9]
    assert batch["timestamp"].to_pylist()[2] == datetime.datetime(1969, 12, 31, 23, 59, 59, 999000, datetime.UTC)
    assert batch["key"].to_pylist() == [b"k", None, b""]
    assert batch["value"].to_pylist() == [None, b"\xff\x00", b""]
    assert batch["headers"].to_pylist() == [
        [{"key": "h", "value": b"x"}, {"key": "n", "value": None}],
        [],
        [{"key": "", "value": b""}],
    ]


@pytest.mark.parametrize("name", list(FIELDS))
def test_a_column_does_not_need_the_others(name: str) -> None:
    assert as_arrow(RECORDS, name)[name].equals(as_arrow(RECORDS, *FIELDS)[name])


def test_header_keys_that_are_not_utf8_read_as_a_java_client_shows_them() -> None:
    strange = Record(0, 0, None, None, (Header("a\udcff", b""), Header("é", b"")))
    assert [header["key"] for header in as_arrow([strange], "headers")["headers"].to_pylist()[0]] == ["a�", "é"]


optional_bytes = st.none() | st.binary(max_size=40)
headers = st.lists(st.builds(Header, st.text(max_size=5), optional_bytes), max_size=3).map(tuple)
int64 = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(st.builds(Record, int64, int64, optional_bytes, optional_bytes, headers), max_size=20))
def test_records_come_back_from_arrow(records: list[Record]) -> None:
    assert to_records(from_arrow(to_arrow(from_records(records), *FIELDS))) == records


@pytest.mark.parametrize("start", range(3))
def test_slices_begin_where_they_say(start: int) -> None:
    many = [
        Record(i, i, b"%d" % i if i % 3 else None, b"v" * i, (Header("h", b"%d" % i),) * (i % 3)) for i in range(40)
    ]
    batch = as_arrow(many, *FIELDS).slice(start * 5 + 1, 20)
    assert to_records(from_arrow(batch)) == many[start * 5 + 1 : start * 5 + 21]


def test_a_slice_does_not_answer_for_the_rows_outside_it() -> None:
    rows = {"headers": [[{"key": "k", "value": b"v"}], [{"key": None, "value": b""}]]}
    assert to_records(from_arrow(pa.record_batch(rows).slice(0, 1)))[0].headers == (Header("k", b"v"),)


def test_other_types_of_text_and_bytes_are_accepted() -> None:
    batch = pa.record_batch(
        {
            "key": pa.array(["ä", None], pa.large_string()),
            "value": pa.array([b"x", b"y"], pa.binary_view()),
            "timestamp": pa.array([1_000_000, 2_000_000], pa.timestamp("us")),
        }
    )
    assert to_records(from_arrow(batch)) == [Record(0, 1000, "ä".encode(), b"x"), Record(1, 2000, None, b"y")]


def test_rows_without_offset_and_timestamp_count_from_zero_and_have_no_timestamp() -> None:
    assert to_records(from_arrow(pa.record_batch({"value": [b"a", b"b"]}))) == [
        Record(0, -1, None, b"a"),
        Record(1, -1, None, b"b"),
    ]


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"valeu": [b"x"]}, "column 'valeu' is not a column of records"),
        ({"offset": pa.array([None], pa.int64())}, "1 null in column 'offset'"),
        ({"headers": [[{"key": None, "value": b""}]]}, "1 header without a key"),
    ],
)
def test_what_a_record_cannot_be_is_refused(columns: dict[str, object], problem: str) -> None:
    with pytest.raises(EncodingError, match=problem):
        from_arrow(pa.record_batch(columns))
