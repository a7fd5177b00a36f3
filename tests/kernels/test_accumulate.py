"""A producer's open batches: when one is full, what it holds, and that columns are cut like single records."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo import kernels as chosen
from octavo.format.batches.row_columns import from_records
from octavo.format.record import Header, Record
from octavo.kernels import layout
from octavo.kernels.columns import RecordColumns
from octavo.kernels.layout import BATCH, BATCH_OVERHEAD, Refused
from tests.kernels import implementations

NO_HEADERS = b"\0"
MAX_BYTES = 1 << 20
# Three records, with deltas forward and back, a null key, a null value and a header; and the batch that Kafka's own
# accumulator makes of them.
SENT = [
    (1_700_000_000_000, b"k1", b"v1", NO_HEADERS),
    (1_700_000_000_010, None, b"v2", bytes.fromhex("02026802") + b"x"),
    (1_699_999_999_990, b"k3", None, NO_HEADERS),
]
GOLDEN = (
    "000000000000000000000052ffffffff0250abb8fd0000000000020000018bcfe568000000018bcfe5680affffffffffffffffffffffffffff"
    "0000000314000000046b31047631001800140201047632020268027810001304046b330100"
)


def open_batch(size: int = 1000) -> bytearray:
    return bytearray(size)


def filled(batch: bytearray) -> int:
    return int.from_bytes(batch[layout.SIZE_POSITION : layout.LOG_OVERHEAD]) + layout.LOG_OVERHEAD


def test_the_records_are_those_of_kafkas_accumulator(kernels: SimpleNamespace) -> None:
    batch = open_batch()
    places = [kernels.append_record(batch, *record, 1000, 0.0, MAX_BYTES) for record in SENT]
    golden = bytes.fromhex(GOLDEN)
    assert places == [0, 1, 2]
    assert filled(batch) == len(golden) == 94
    assert batch[BATCH_OVERHEAD:94] == golden[BATCH_OVERHEAD:]
    for position, size in ((layout.LAST_OFFSET_DELTA_POSITION, 20), (layout.RECORDS_COUNT_POSITION, 4)):
        assert batch[position : position + size] == golden[position : position + size]


@pytest.mark.parametrize(
    ("batch_size", "ratio", "records", "estimated"),
    [(1, 0.0, 2, 95), (100, 0.0, 2, 95), (200, 0.0, 8, 197), (200, 1.0, 7, 185)],
)
def test_a_batch_takes_as_many_records_as_kafkas(
    kernels: SimpleNamespace, batch_size: int, ratio: float, records: int, estimated: int
) -> None:
    batch, limit = open_batch(), max(batch_size, 95)
    places = [
        kernels.append_record(batch, 5, None, b"0123456789", NO_HEADERS, limit, ratio, MAX_BYTES) for _ in "x" * 9
    ]
    assert places == [*range(records), *[Refused.NO_ROOM] * (9 - records)]
    record_bytes = filled(batch) - BATCH_OVERHEAD
    assert BATCH_OVERHEAD + int(record_bytes * 1.05 * ratio if ratio else record_bytes) == estimated


def test_a_buffer_that_is_too_short_is_made_longer_by_the_caller(kernels: SimpleNamespace) -> None:
    batch = open_batch(BATCH_OVERHEAD)
    record = (0, None, b"v" * 100, NO_HEADERS, 1000, 0.0, MAX_BYTES)
    assert kernels.append_record(batch, *record) == Refused.SHORT_BUFFER
    batch.extend(bytes(200))
    assert kernels.append_record(batch, *record) == 0


def test_a_record_whose_upper_bound_exceeds_the_limit_is_refused(kernels: SimpleNamespace) -> None:
    record = (open_batch(), 0, None, b"0123456789", NO_HEADERS, 1000, 0.0)
    assert kernels.append_record(*record, 94) == Refused.TOO_LARGE
    assert kernels.append_record(*record, 95) == 0


def test_a_closed_batch_accepts_nothing_more(kernels: SimpleNamespace) -> None:
    batch = open_batch()
    kernels.append_record(batch, 0, None, b"v", NO_HEADERS, 1000, 0.0, MAX_BYTES)
    kernels.close_batch(batch)
    assert batch[layout.MAGIC_POSITION] == 2
    before = bytes(batch)
    assert kernels.append_record(batch, 0, None, b"v", NO_HEADERS, 1000, 0.0, MAX_BYTES) == Refused.NO_ROOM
    assert bytes(batch) == before


@pytest.mark.parametrize("broken", [b"", bytes(BATCH_OVERHEAD - 1)])
def test_what_is_not_a_batch_is_refused(kernels: SimpleNamespace, broken: bytes) -> None:
    with pytest.raises(ValueError, match="an open batch of"):
        kernels.append_record(bytearray(broken), 0, None, b"v", NO_HEADERS, 1000, 0.0, MAX_BYTES)
    kernels.close_batch(bytearray(broken))


def test_a_size_beyond_the_buffer_is_refused(kernels: SimpleNamespace) -> None:
    batch = open_batch(100)
    batch[layout.SIZE_POSITION : layout.LOG_OVERHEAD] = (200).to_bytes(4)
    batch[layout.RECORDS_COUNT_POSITION : layout.BATCH_OVERHEAD] = (1).to_bytes(4)
    with pytest.raises(ValueError, match="1 records up to position 212"):
        kernels.append_record(batch, 0, None, b"v", NO_HEADERS, 1000, 0.0, MAX_BYTES)


CONTENT = st.none() | st.binary(max_size=40)
HEADERS = st.lists(st.builds(Header, st.text(max_size=3), CONTENT), max_size=2).map(tuple)
RECORDS = st.lists(
    st.builds(Record, st.just(0), st.integers(0, 1 << 40) | st.integers(1000, 1100), CONTENT, CONTENT, HEADERS),
    min_size=1,
    max_size=30,
)
RATIOS = st.sampled_from([0.0, 0.3, 0.995, 1.0, 1.2])


@given(RECORDS, st.integers(1, 400), RATIOS)
def test_columns_are_cut_as_single_records_fill_batches(records: list[Record], batch_size: int, ratio: float) -> None:
    """The compiled kernel and its twin give the same batches, byte for byte, from columns and from single records."""
    numbered = [record._replace(offset=offset) for offset, record in enumerate(records)]
    columns = from_records(numbered)
    tables = []
    for name in ("compiled", "reference"):
        kernels = implementations.load(name)
        table = np.zeros(len(records), BATCH)
        count, row = kernels.cut_batches(columns, 0, len(records), table, batch_size, ratio)
        assert row == len(records)
        tables.append(table[:count].tolist())
        assert one_by_one(kernels, records, batch_size, ratio) == encoded(columns, table[:count])
    assert tables[0] == tables[1]


def test_a_table_that_is_full_ends_the_cut(kernels: SimpleNamespace) -> None:
    columns = from_records([Record(place, 0, None, b"0123456789") for place in range(6)])
    table = np.zeros(2, BATCH)
    assert kernels.cut_batches(columns, 1, 6, table, 1, 0.0) == (2, 5)
    assert table["count"].tolist() == [2, 2]
    assert kernels.cut_batches(columns, 6, 6, table, 1, 0.0) == (0, 6)


def one_by_one(kernels: SimpleNamespace, records: list[Record], batch_size: int, ratio: float) -> list[bytes]:
    batches: list[bytearray] = []
    limit = 0
    for record in records:
        fields = record.timestamp, record.key, record.value, headers_of(record)
        if not batches or kernels.append_record(batches[-1], *fields, limit, ratio, MAX_BYTES) == Refused.NO_ROOM:
            batches.append(open_batch(4000))
            bound = upper_bound(record)
            limit = max(batch_size, bound)
            assert kernels.append_record(batches[-1], *fields, limit, ratio, bound) == 0
    return [bytes(batch[BATCH_OVERHEAD : filled(batch)]) for batch in batches]


def headers_of(record: Record) -> bytes:
    """The count and the headers at the end of a record, as the encoding kernel writes them.

    Without headers, a record ends with a count of 0. With them, the length in front of the record may be longer.
    """
    whole, bare = record_bytes(record), record_bytes(record._replace(headers=()))
    return whole[len(bare) - 1 + _varint_bytes(whole) - _varint_bytes(bare) :]


def _varint_bytes(data: bytes) -> int:
    return next(place for place, byte in enumerate(data) if byte < 0x80) + 1


def record_bytes(record: Record) -> bytes:
    out = bytearray(2000)
    _, end = chosen.encode_records(from_records([record._replace(offset=0)]), 0, 1, 0, record.timestamp, out, 0)
    return bytes(out[:end])


def upper_bound(record: Record) -> int:
    """61 + 21 + key, value and headers with their lengths: all of a record but its length, attributes and deltas."""
    whole = record_bytes(record)
    return BATCH_OVERHEAD + layout.MAX_RECORD_OVERHEAD + len(whole) - _varint_bytes(whole) - 3


def encoded(columns: RecordColumns, table: np.ndarray[tuple[int], np.dtype[np.void]]) -> list[bytes]:
    table = table.copy()
    table["base_offset"] = np.cumsum(table["count"]) - table["count"]
    out = bytearray(1 << 16)
    chosen.encode_batches(columns, 0, table, out, 0)
    return [bytes(out[row["position"] + BATCH_OVERHEAD : row["position"] + row["size"]]) for row in table]
