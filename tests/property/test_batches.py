"""v2 batches are read back as they were written, whatever they hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import CorruptRecordError, EncodingError
from octavo.format.batches.batch import BatchTraits, Origin, build_batch, decode_batch
from octavo.format.batches.header import BatchHeader
from octavo.format.compression import Codec
from octavo.format.record import Record, TimestampType
from octavo.kernels.layout import BATCH_OVERHEAD, LOG_APPEND_TIME
from tests.format.exact_batches import empty_batch, encode_batch
from tests.format.stamped import stamp_batch
from tests.property.strategies import FIELDS, HEADERS, INT64, TRAITS, built, records


@given(records(), TRAITS)
def test_a_built_batch_reads_back(written: list[Record], traits: BatchTraits) -> None:
    header, read = decode_batch(built(written, traits))
    appended = traits.log_append_time
    assert read == [r if appended is None else r._replace(timestamp=appended) for r in written]
    origin = traits.origin
    assert (header.base_offset, header.last_offset) == (written[0].offset, written[-1].offset)
    assert (header.count, header.codec_id) == (len(written), traits.codec)
    assert header.partition_leader_epoch == traits.partition_leader_epoch
    assert (header.producer_id, header.producer_epoch) == (origin.producer_id, origin.producer_epoch)
    assert header.base_sequence == origin.base_sequence
    assert (header.is_transactional, header.is_control) == (origin.is_transactional, origin.is_control)
    assert header.delete_horizon_ms == traits.delete_horizon_ms
    assert header.max_timestamp == (max(r.timestamp for r in written) if appended is None else appended)
    kind = TimestampType.CREATE_TIME if appended is None else TimestampType.LOG_APPEND_TIME
    assert header.timestamp_type is kind


@given(records(), TRAITS)
def test_a_decoded_batch_gives_its_bytes_again(written: list[Record], traits: BatchTraits) -> None:
    data = built(written, traits)
    header, read = decode_batch(data, stored_timestamps=True)
    assert read == written
    assert encode_batch(header, read) == data


HEADER_FIELDS = st.builds(
    BatchHeader,
    base_offset=INT64,
    partition_leader_epoch=st.integers(-(2**31), 2**31 - 1),
    attributes=st.integers(-(2**15), 2**15 - 1).map(lambda bits: bits & ~7) | st.integers(0, 4),
    last_offset_delta=st.integers(-(2**31), 2**31 - 1),
    base_timestamp=INT64,
    max_timestamp=INT64,
    producer_id=INT64,
    producer_epoch=st.integers(-(2**15), 2**15 - 1),
    base_sequence=st.integers(-(2**31), 2**31 - 1),
)
DELTAS = st.integers(-(2**31), 2**31 - 1)


def wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


@given(HEADER_FIELDS, st.lists(st.tuples(DELTAS, INT64, FIELDS, FIELDS, HEADERS), max_size=4))
def test_any_header_is_written_to_the_letter(header: BatchHeader, rows: list[Any]) -> None:
    """Offsets and timestamps wrap around, as they do in Java."""
    written = [Record(wrapped(header.base_offset + delta), *rest) for delta, *rest in rows]
    found, read = decode_batch(encode_batch(header, written), stored_timestamps=True)
    assert replace(found, crc=0, size=0) == replace(header, count=len(written))
    assert read == written


@given(records(), TRAITS)
def test_an_emptied_batch_keeps_its_place(written: list[Record], traits: BatchTraits) -> None:
    header, _ = decode_batch(built(written, traits))
    data = empty_batch(header)
    left, read = decode_batch(data)
    assert (len(data), read, left.count, left.codec_id, left.base_timestamp) == (BATCH_OVERHEAD, [], 0, 0, -1)
    assert left.delete_horizon_ms is None
    same = (
        *("base_offset", "last_offset_delta", "partition_leader_epoch", "producer_id", "producer_epoch"),
        *("base_sequence", "max_timestamp", "timestamp_type", "is_transactional", "is_control"),
    )
    assert {name: getattr(left, name) for name in same} == {name: getattr(header, name) for name in same}


@given(records(), TRAITS, st.integers(0, 2**62))
def test_a_stamped_batch_still_has_its_records(written: list[Record], traits: BatchTraits, now: int) -> None:
    data = built(written, traits)
    stamped = stamp_batch(data, TimestampType.LOG_APPEND_TIME, now)
    header, read = decode_batch(stamped)
    assert read == [r._replace(timestamp=now) for r in written]
    assert header.attributes & LOG_APPEND_TIME
    assert decode_batch(stamped, stored_timestamps=True)[1] == written


@given(records(), TRAITS, st.data())
def test_one_flipped_bit_is_seen(written: list[Record], traits: BatchTraits, data: st.DataObject) -> None:
    """A flip of any bit that the checksum covers, or of the checksum itself."""
    batch = bytearray(built(written, traits))
    batch[data.draw(st.integers(17, len(batch) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(CorruptRecordError, match="CRC"):
        decode_batch(batch)


@given(records(), st.sampled_from(list(Codec)), st.data())
def test_a_batch_that_is_cut_is_refused(written: list[Record], codec: Codec, data: st.DataObject) -> None:
    batch = build_batch(written, codec=codec)
    with pytest.raises(CorruptRecordError, match="no whole batch"):
        decode_batch(batch[: data.draw(st.integers(0, len(batch) - 1))])


def one(offset: int = 0, timestamp: int = 0) -> Record:
    return Record(offset, timestamp, b"k", b"v")


@pytest.mark.parametrize(
    ("written", "traits", "sentence"),
    [
        ([], BatchTraits(), "without a record"),
        ([one(1), one(1)], BatchTraits(), "offset 1 after 1"),
        ([one(2), one(1)], BatchTraits(), "offset 1 after 2"),
        ([one(timestamp=-2)], BatchTraits(), "timestamp -2"),
        ([one(0), one(2**31)], BatchTraits(), "the last offset of a batch is at most"),
        ([one()], BatchTraits(origin=Origin(is_transactional=True)), "without a producer id"),
        ([one()], BatchTraits(origin=Origin(producer_id=1)), "without a producer epoch"),
        ([one()], BatchTraits(origin=Origin(producer_id=1, producer_epoch=0)), "base sequence -1"),
        ([one()], BatchTraits(origin=Origin(producer_id=2**63, producer_epoch=0, base_sequence=0)), "64 bits"),
        ([one()], BatchTraits(origin=Origin(producer_id=1, producer_epoch=2**15, base_sequence=0)), "16 bits"),
        ([one()], BatchTraits(origin=Origin(producer_id=1, producer_epoch=0, base_sequence=2**31)), "32 bits"),
        ([one()], BatchTraits(partition_leader_epoch=2**31), "32 bits"),
        ([one()], BatchTraits(log_append_time=2**63), "64 bits"),
        ([one(2**63)], BatchTraits(), "64 bits"),
        ([one()], BatchTraits(codec=Codec.SNAPPY, level=3), "no compression levels"),
    ],
)
def test_what_no_batch_can_hold_is_refused(written: list[Record], traits: BatchTraits, sentence: str) -> None:
    with pytest.raises(EncodingError, match=sentence):
        built(written, traits)
