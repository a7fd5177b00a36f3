"""The line of a batch."""

from __future__ import annotations

from typing import NamedTuple

from octavo.errors import InvalidRecordError
from octavo.format.compression import Codec
from octavo.format.record_parts import signed64
from octavo.format.sequence import last_sequence
from octavo.kernels import layout
from octavo.kernels.layout import Flaw

_CODEC_NAMES = {int(codec): codec.name.lower() for codec in Codec}
_BOOLEANS = ("false", "true")


class BatchRow(NamedTuple):
    """A row of a walk's table as Python values, its fields in the order of `layout.BATCH`."""

    position: int
    base_offset: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    size: int
    partition_leader_epoch: int
    crc: int
    last_offset_delta: int
    base_sequence: int
    records_count: int
    attributes: int
    producer_epoch: int
    magic: int
    flaws: int
    reserved: int

    @property
    def timestamp_type(self) -> str:
        if self.magic == 0:
            return "NoTimestampType"
        return "LogAppendTime" if self.attributes & layout.LOG_APPEND_TIME else "CreateTime"

    @property
    def is_control(self) -> bool:
        return self.magic >= 2 and bool(self.attributes & layout.CONTROL)

    @property
    def codec(self) -> str | None:
        """Its name, None for an id that Kafka does not know."""
        return _CODEC_NAMES.get(self.attributes & layout.CODEC_MASK)

    @property
    def is_valid(self) -> bool:
        return not self.flaws & (Flaw.CRC_MISMATCH | Flaw.TOO_SHORT)


def batch_start(batch: BatchRow) -> str:
    """What is printed of a batch before its codec is looked at: of an unknown one this stays alone on its line."""
    if batch.magic < 2:
        return f"offset: {batch.base_offset}"
    attributes = batch.attributes
    horizon = f"[{batch.base_timestamp}]" if attributes & layout.DELETE_HORIZON else ".empty"
    return (
        f"baseOffset: {batch.base_offset} lastOffset: {signed64(batch.base_offset + batch.last_offset_delta)} "
        f"count: {batch.records_count} baseSequence: {batch.base_sequence} "
        f"lastSequence: {last_sequence(batch.base_sequence, batch.last_offset_delta)} "
        f"producerId: {batch.producer_id} producerEpoch: {batch.producer_epoch} "
        f"partitionLeaderEpoch: {batch.partition_leader_epoch} "
        f"isTransactional: {_BOOLEANS[attributes & layout.TRANSACTIONAL > 0]} "
        f"isControl: {_BOOLEANS[attributes & layout.CONTROL > 0]} deleteHorizonMs: OptionalLong{horizon}"
    )


def batch_end(batch: BatchRow, position: int) -> str:
    """The rest of the line; `position` is the batch's in the file."""
    if batch.magic < 0:
        raise InvalidRecordError(f"a message of magic {batch.magic}, expected 0 or 1", position=position)
    codec = batch.codec
    if codec is None:
        found = f"codec {batch.attributes & layout.CODEC_MASK}"
        raise InvalidRecordError(f"a batch compressed with {found}, expected 0 to 4", position=position)
    return (
        f" position: {position} {batch.timestamp_type}: {batch.max_timestamp} size: {batch.size} magic: {batch.magic} "
        f"compresscodec: {codec} crc: {batch.crc} isvalid: {_BOOLEANS[batch.is_valid]}\n"
    )
