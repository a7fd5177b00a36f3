"""What an append brings, before the log is locked: the checks of whole batches that need neither offsets nor records.

What the records say is `storage.validate`'s business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.errors import (
    CorruptBatchError,
    InvalidBatchError,
    OffsetsOutOfOrderError,
    RecordTooLargeError,
    UnforeseenBatchError,
)
from octavo.format.batch_row import BatchRow
from octavo.format.compression import Codec
from octavo.kernels import layout
from octavo.kernels.layout import Flaw
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.batch_row import batch_row, batch_rows, summarize

if TYPE_CHECKING:
    from typing_extensions import Buffer

_UNKNOWN_MAGIC = int(Flaw.UNKNOWN_MAGIC)
_TOO_SHORT = int(Flaw.TOO_SHORT)
_DAMAGED = int(Flaw.TOO_SHORT | Flaw.CRC_MISMATCH)
_LARGEST_CODEC = int(max(Codec))


class AppendInfo(NamedTuple):
    """A set of batches as it came. Without a batch there is nothing to append, and its numbers are -1."""

    table: NDArray[np.void]  # the batches to append
    valid_bytes: int  # where they end: an incomplete batch, or those of a later leader epoch, are left out
    first_offset: int | None  # None: that of a v0/v1 message is not known
    last_offset_of_first_batch: int
    last_offset: int
    last_leader_epoch: int | None
    max_timestamp: int
    source_codec: Codec  # that of the last compressed batch

    @property
    def first_or_last_offset_of_first_batch(self) -> int:
        return self.last_offset_of_first_batch if self.first_offset is None else self.first_offset


class Limits(NamedTuple):
    """What batches are held against."""

    origin: AppendOrigin
    max_message_bytes: int
    leader_epoch: int
    trusted: bool


def analyze(
    data: Buffer,
    table: NDArray[np.void],
    *,
    origin: AppendOrigin,
    max_message_bytes: int,
    leader_epoch: int,
    trusted: bool = False,
) -> AppendInfo:
    """Check the batches that a walk has found in `data`, from its first byte on and with their CRCs.

    `trusted`: Octavo's own encoder made them (`validate.assign_offsets` says what follows from it), and base offsets
    may count on from batch to batch.
    """
    limits = Limits(origin, max_message_bytes, leader_epoch, trusted)
    kept = _before_later_epochs(table, leader_epoch) if origin is AppendOrigin.REPLICATION else table
    if len(kept) <= 1 or not clearly_sound(kept, limits):
        check_batches(kept, limits)
    info = _info(kept)
    end = info.valid_bytes
    if len(kept) < len(table):
        for batch in batch_rows(table[len(kept) :]):
            _check_magic(batch)  # all that is looked at of what is left out
            end = batch.end
    _check_tail(memoryview(data).cast("B"), end)
    return info


def source_codec(table: NDArray[np.void]) -> Codec:
    """The codec of the last compressed batch."""
    if not summarize(table).max_codec:
        return Codec.NONE
    codecs = table["attributes"] & layout.CODEC_MASK
    return Codec(int(codecs[codecs.nonzero()[0][-1]]))


def check_batches(table: NDArray[np.void], limits: Limits) -> None:
    """Raise for the first batch that is refused, with the first reason in Kafka's order."""
    last_offset = -1
    for batch in batch_rows(table):
        _check_magic(batch)
        _check_origin(batch, limits)
        if limits.origin is not AppendOrigin.REPLICATION:
            check_size(batch, limits.max_message_bytes)
        _check_soundness(batch)
        if not limits.origin.assigns_offsets and batch.last_offset <= last_offset:
            found = f"{batch} ends at offset {batch.last_offset}"
            raise OffsetsOutOfOrderError(f"{found}, expected more than {last_offset}")
        last_offset = batch.last_offset


def clearly_sound(table: NDArray[np.void], limits: Limits) -> bool:
    """Whether `check_batches` refuses none of them: the same for all batches at once. False may be wrong."""
    found = summarize(table)
    if found.flaws & (_UNKNOWN_MAGIC | _DAMAGED) or found.max_codec > _LARGEST_CODEC:
        return False
    match limits.origin:
        case AppendOrigin.RAFT_LEADER:
            sound = found.min_epoch == found.max_epoch == limits.leader_epoch
        case AppendOrigin.CLIENT:
            sound = limits.trusted or found.from_zero
        case _:
            sound = True
    if limits.origin is not AppendOrigin.REPLICATION:
        sound = sound and found.max_size <= limits.max_message_bytes
    return sound and (limits.origin.assigns_offsets or found.ascending)


def check_size(batch: BatchRow, max_message_bytes: int) -> None:
    if batch.size > max_message_bytes:
        expected = f"expected at most max.message.bytes, {max_message_bytes}"
        raise RecordTooLargeError(f"{batch} has {batch.size} bytes, {expected}")


def _info(table: NDArray[np.void]) -> AppendInfo:
    if not len(table):
        return AppendInfo(table, 0, None, -1, -1, None, layout.NO_TIMESTAMP, Codec.NONE)
    found, first = summarize(table), batch_row(table, 0)
    last = first if len(table) == 1 else batch_row(table, -1)
    return AppendInfo(
        table,
        valid_bytes=last.end,
        first_offset=first.base_offset if first.magic >= 2 else None,
        last_offset_of_first_batch=first.last_offset,
        last_offset=last.last_offset,
        last_leader_epoch=None
        if last.partition_leader_epoch == layout.NO_LEADER_EPOCH
        else last.partition_leader_epoch,
        max_timestamp=max(found.max_timestamp, layout.NO_TIMESTAMP),
        source_codec=source_codec(table) if found.max_codec else Codec.NONE,
    )


def _before_later_epochs(table: NDArray[np.void], leader_epoch: int) -> NDArray[np.void]:
    """The batches up to the first one of a later leader epoch than the follower knows.

    A leader that was replaced while it sent an answer may have put batches of its successor into it (KAFKA-18723).
    """
    if summarize(table).max_epoch <= leader_epoch:
        return table
    epochs = table["partition_leader_epoch"]
    later = ((epochs != layout.NO_LEADER_EPOCH) & (epochs > leader_epoch)).nonzero()[0]
    return table[: later[0]] if len(later) else table


def _check_magic(batch: BatchRow) -> None:
    if batch.flaws & _UNKNOWN_MAGIC:
        raise CorruptBatchError(f"{batch} has magic {batch.magic}, expected 0, 1 or 2")


def _check_origin(batch: BatchRow, limits: Limits) -> None:
    if limits.origin is AppendOrigin.RAFT_LEADER and batch.partition_leader_epoch != limits.leader_epoch:
        found = f"{batch} has leader epoch {batch.partition_leader_epoch}"
        raise InvalidBatchError(f"{found}, expected the raft leader's, {limits.leader_epoch}")
    if limits.origin is AppendOrigin.CLIENT and batch.magic >= 2 and batch.base_offset and not limits.trusted:
        raise InvalidBatchError(f"{batch} has base offset {batch.base_offset}, expected a producer's, 0")


def _check_soundness(batch: BatchRow) -> None:
    if batch.flaws & _TOO_SHORT:
        expected = f"expected at least the {layout.BATCH_OVERHEAD} of its header"
        raise CorruptBatchError(f"{batch} has {batch.size} bytes, {expected}")
    if batch.flaws & _DAMAGED:
        raise CorruptBatchError(f"{batch} has a CRC that is not the stored {batch.crc}")
    if batch.codec_id > _LARGEST_CODEC:
        raise UnforeseenBatchError(f"{batch} has codec {batch.codec_id}, expected 0 to {_LARGEST_CODEC}")


def _check_tail(view: memoryview, at: int) -> None:
    """What follows the last whole batch may be the beginning of another one, not anything."""
    left = len(view) - at
    if left < layout.LOG_OVERHEAD:
        return
    size = layout.ENTRY_PREFIX.unpack_from(view, at)[1]
    if size < layout.MIN_MESSAGE_SIZE:
        expected = f"expected at least {layout.MIN_MESSAGE_SIZE}"
        raise CorruptBatchError(f"the batch at position {at} claims {size} bytes, {expected}")
    if left >= layout.HEADER_UP_TO_MAGIC and view[at + layout.MAGIC_POSITION] > 2:
        magic = view[at + layout.MAGIC_POSITION]
        raise CorruptBatchError(f"the batch at position {at} has magic {magic}, expected 0, 1 or 2")
