"""Numbers that do not fit a header field: refused with the documented error when written, wrapped when computed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from octavo.errors import EncodingError
from octavo.format.batches.batch import Origin, build_batch
from octavo.format.batches.batch_row import batch_row
from octavo.format.batches.header import BatchHeader
from octavo.format.compression import Codec
from octavo.format.legacy.message_set import encode_message, encode_message_set
from octavo.format.record import Record
from tests.format.exact_batches import empty_batch, encode_batch

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
        lambda: encode_message(Record(LARGE, 1, None, None), 0),
        lambda: encode_message(Record(1, LARGE, None, None), 1),
        lambda: encode_message(Record(1, 1, None, None), 1, 128),
        lambda: encode_message_set([Record(1, LARGE, None, None)], 1, codec=Codec.GZIP),
    ],
)
def test_a_number_beyond_its_field_is_refused(encode: Callable[[], bytes]) -> None:
    with pytest.raises(EncodingError):
        encode()


def test_the_error_names_the_field() -> None:
    with pytest.raises(EncodingError, match="producer_epoch 32768 does not fit into 16 bits"):
        build_batch(RECORDS, origin=LARGE_EPOCH)


def test_a_damaged_last_offset_wraps_as_in_java() -> None:
    header = BatchHeader(base_offset=LARGE - 1, last_offset_delta=2)
    assert header.last_offset == batch_row(header.to_table(), 0).last_offset == 1 - LARGE
