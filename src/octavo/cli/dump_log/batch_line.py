"""The line of a batch, as kafka-dump-log prints it."""

from __future__ import annotations

from octavo.errors import InvalidRecordError
from octavo.format.batches.batch_row import BatchRow
from octavo.format.compression import Codec
from octavo.format.sequence import last_sequence
from octavo.kernels import layout
from octavo.kernels.layout import BROKEN

_CODEC_NAMES = {int(codec): codec.name.lower() for codec in Codec}
_BOOLEANS = ("false", "true")


def timestamp_type(batch: BatchRow) -> str:
    if batch.magic == 0:
        return "NoTimestampType"
    return "LogAppendTime" if batch.attributes & layout.LOG_APPEND_TIME else "CreateTime"


def batch_start(batch: BatchRow) -> str:
    """The start of a batch's line, printed before its codec is checked; with an unknown codec nothing follows it."""
    if batch.magic < 2:
        return f"offset: {batch.base_offset}"
    attributes = batch.attributes
    horizon = f"[{batch.base_timestamp}]" if attributes & layout.DELETE_HORIZON else ".empty"
    return (
        f"baseOffset: {batch.base_offset} lastOffset: {batch.last_offset} "
        f"count: {batch.record_count} baseSequence: {batch.base_sequence} "
        f"lastSequence: {last_sequence(batch.base_sequence, batch.last_offset_delta)} "
        f"producerId: {batch.producer_id} producerEpoch: {batch.producer_epoch} "
        f"partitionLeaderEpoch: {batch.partition_leader_epoch} "
        f"isTransactional: {_BOOLEANS[attributes & layout.TRANSACTIONAL > 0]} "
        f"isControl: {_BOOLEANS[attributes & layout.CONTROL > 0]} deleteHorizonMs: OptionalLong{horizon}"
    )


def batch_end(batch: BatchRow, position: int) -> str:
    """The rest of the line; `position` is the batch's position in the file."""
    if batch.magic < 0:
        raise InvalidRecordError(f"a message of magic {batch.magic}, expected 0 or 1", position=position)
    codec = _CODEC_NAMES.get(batch.codec_id)
    if codec is None:
        found = f"codec {batch.codec_id}"
        raise InvalidRecordError(f"a batch compressed with {found}, expected 0 to 4", position=position)
    is_valid = not batch.flaws & BROKEN
    return (
        f" position: {position} {timestamp_type(batch)}: {batch.max_timestamp} size: {batch.size} magic: {batch.magic} "
        f"compresscodec: {codec} crc: {batch.crc} isvalid: {_BOOLEANS[is_valid]}\n"
    )
