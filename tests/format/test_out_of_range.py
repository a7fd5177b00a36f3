"""Numbers that do not fit a header field are refused with the documented error, wherever they come from."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from octavo.errors import CorruptRecordError, EncodingError
from octavo.format.batches.batch import Origin, build_batch, empty_batch, encode_batch, stamp_batch
from octavo.format.batches.header import BatchHeader
from octavo.format.compression import Codec
from octavo.format.legacy.message_set import encode_message, encode_message_set, with_timestamp
from octavo.format.record import Record, TimestampType

RECORDS = [Record(1, 1, None, None)]
LARGE = 2**63
LARGE_EPOCH = Origin(producer_id=5, producer_epoch=2**15, base_sequence=1)


@pytest.mark.parametrize(
    "encode",
    [
        lambda: build_batch([Record(LARGE, 1, None, None)]),
        lambda: build_batch([Record(1, LARGE, None, None)]),
        lambda: build_batch(RECORDS, partition_leader_epoch=2**31),
        lambda: build_batch(RECORDS, log_append_time=LARGE),
        lambda: build_batch(RECORDS, origin=LARGE_EPOCH),
        lambda: build_batch(RECORDS, origin=LARGE_EPOCH, codec=Codec.GZIP),
        lambda: encode_batch(BatchHeader(attributes=2**15), []),
        lambda: empty_batch(BatchHeader(last_offset_delta=2**31)),
        lambda: stamp_batch(build_batch(RECORDS), TimestampType.LOG_APPEND_TIME, LARGE),
        lambda: encode_message(Record(LARGE, 1, None, None), 0),
        lambda: encode_message(Record(1, LARGE, None, None), 1),
        lambda: encode_message(Record(1, 1, None, None), 1, 128),
        lambda: encode_message_set([Record(1, LARGE, None, None)], 1, codec=Codec.GZIP),
        lambda: with_timestamp(encode_message(RECORDS[0], 1), TimestampType.CREATE_TIME, LARGE),
    ],
)
def test_a_number_beyond_its_field(encode: Callable[[], bytes]) -> None:
    with pytest.raises(EncodingError):
        encode()


def test_the_error_names_the_field() -> None:
    with pytest.raises(EncodingError, match="producer_epoch 32768 does not fit into 16 bits"):
        build_batch(RECORDS, origin=LARGE_EPOCH)


@pytest.mark.parametrize("size", [0, 12, 25])
def test_a_message_too_short_for_a_timestamp(size: int) -> None:
    with pytest.raises(CorruptRecordError, match=f"an entry of {size} bytes"):
        with_timestamp(encode_message(RECORDS[0], 1)[:size], TimestampType.CREATE_TIME, 1)


def test_timestamps_are_set_on_their_own_magic_alone() -> None:
    with pytest.raises(EncodingError, match="magic 0 has no timestamp to set"):
        with_timestamp(encode_message(RECORDS[0], 0), TimestampType.CREATE_TIME, 1)
    with pytest.raises(EncodingError, match="a batch of magic 1, expected magic 2"):
        stamp_batch(encode_message(RECORDS[0], 1), TimestampType.CREATE_TIME, 1)
