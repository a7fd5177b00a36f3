"""v0 and v1 message sets are read back as they were written."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from octavo.format.batches.decoder import Decoder
from octavo.format.batches.header import BatchHeader
from octavo.format.batches.row_columns import to_records
from octavo.format.batches.walker import walk
from octavo.format.compression import Codec
from octavo.format.legacy.message_set import encode_message, encode_message_set
from octavo.format.record import Record, TimestampType
from octavo.kernels.layout import Column, Stop
from tests.format.stamped import with_timestamp
from tests.property.strategies import FIELDS, INT64, SETS, TIMESTAMPS, records


def read(data: bytes, columns: Column = Column.ALL) -> list[Record]:
    found = walk(data)
    assert (found.stop, found.next_position) == (Stop.END, len(data))
    assert not found.table["flaws"].any()
    return [record for filled in Decoder(columns).decode(data, found.table) for record in to_records(filled)]


@given(records(headers=False), SETS)
def test_a_set_reads_back(written: list[Record], how: dict[str, Any]) -> None:
    """v0 has no timestamps; LogAppendTime overrides each record's own."""
    data = encode_message_set(written, **how)
    if how["magic"] == 0:
        assert read(data) == [r._replace(timestamp=-1) for r in written]
    elif how["log_append_time"] is not None:
        assert read(data) == [r._replace(timestamp=how["log_append_time"]) for r in written]
    else:
        assert read(data) == written


@given(records(headers=False), SETS)
def test_a_wrapper_has_the_offset_of_its_last_message(written: list[Record], how: dict[str, Any]) -> None:
    rows = [BatchHeader.from_row(row) for row in walk(encode_message_set(written, **how)).table]
    assert {row.codec_id for row in rows} == {how["codec"]}
    if how["codec"] is Codec.NONE:
        assert [row.base_offset for row in rows] == [r.offset for r in written]
    else:
        assert [row.base_offset for row in rows] == [written[-1].offset]


@given(records(headers=False), SETS, TIMESTAMPS)
def test_messages_inside_a_wrapper_keep_their_own_time(written: list[Record], how: dict[str, Any], time: int) -> None:
    how |= {"magic": 1, "log_append_time": time}
    data = encode_message_set(written, **how)
    stored = read(data, Column.ALL | Column.STORED_TIMESTAMP)
    if how["codec"] is Codec.NONE:
        assert stored == [r._replace(timestamp=how["log_append_time"]) for r in written]
    else:
        assert stored == written


@given(records(headers=False), SETS, TIMESTAMPS)
def test_a_broker_that_compresses_stamps_inside_too(written: list[Record], how: dict[str, Any], time: int) -> None:
    how |= {"magic": 1, "log_append_time": time, "stamp_inner": True}
    stored = read(encode_message_set(written, **how), Column.ALL | Column.STORED_TIMESTAMP)
    assert stored == [r._replace(timestamp=how["log_append_time"]) for r in written]


@given(INT64, INT64, FIELDS, FIELDS, st.sampled_from([0, 1]))
def test_one_message_reads_back(
    offset: int, timestamp: int, key: bytes | None, value: bytes | None, magic: int
) -> None:
    record = Record(offset, timestamp, key, value)
    expected = record if magic == 1 else record._replace(timestamp=-1)
    assert read(encode_message(record, magic)) == [expected]


@given(records(headers=False, max_size=1), INT64, st.sampled_from(list(TimestampType)))
def test_a_message_with_another_timestamp_reads_back(
    written: list[Record], timestamp: int, kind: TimestampType
) -> None:
    changed = with_timestamp(encode_message(written[0], 1), kind, timestamp)
    assert read(changed) == [written[0]._replace(timestamp=timestamp)]
    appended = kind is TimestampType.LOG_APPEND_TIME
    found = BatchHeader.from_row(walk(changed).table[0])
    assert found.timestamp_type is (TimestampType.LOG_APPEND_TIME if appended else TimestampType.CREATE_TIME)
