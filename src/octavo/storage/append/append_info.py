"""The first check of an append, before the log is locked: it looks at batches as a whole, not at their records.

`validate` checks the records.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.errors import (
    CorruptBatchError,
    InvalidBatchError,
    OffsetsOutOfOrderError,
    RecordTooLargeError,
    UnforeseenBatchError,
)
from octavo.format.batches.batch_row import BatchRow, batch_rows
from octavo.format.batches.batch_summary import BatchSummary, summarize
from octavo.format.batches.walker import walk
from octavo.format.compression import Codec
from octavo.kernels import layout
from octavo.kernels.layout import BROKEN, Flaw
from octavo.storage.append_origin import AppendOrigin, AppendRequest

_UNKNOWN_MAGIC = int(Flaw.UNKNOWN_MAGIC)
_TOO_SHORT = int(Flaw.TOO_SHORT)
_REFUSED = _UNKNOWN_MAGIC | BROKEN
_LARGEST_CODEC = int(max(Codec))


class AppendInfo(NamedTuple):
    """Incoming batches, examined as a whole."""

    table: NDArray[np.void]  # the batches to append
    summary: BatchSummary  # of these batches

    @property
    def first_offset(self) -> int | None:
        """None for a v0/v1 message, whose first offset is not known."""
        return self.summary.first_base_offset if self.summary.first_magic >= 2 else None

    @property
    def source_codec(self) -> Codec:
        """The codec of the last compressed batch, if any."""
        if not self.summary.max_codec:
            return Codec.NONE
        codecs = self.table["attributes"] & layout.CODEC_MASK
        return Codec(int(codecs[codecs.nonzero()[0][-1]]))


def examine(view: memoryview, request: AppendRequest, max_message_bytes: int) -> AppendInfo:
    """Check the batches from the first byte on; trusted ones, which were just encoded, without their CRCs.

    The base offsets of trusted batches (see `validate.assign_offsets`) need not be 0.
    """
    table = walk(view, check_crc=not request.trusted).table
    appended, summary = table, summarize(table)
    if request.origin is AppendOrigin.REPLICATION and summary.max_epoch > request.leader_epoch:
        appended = _before_later_epochs(table, request.leader_epoch)
        summary = summarize(appended)
    if not clearly_sound(summary, request, max_message_bytes):
        check_batches(appended, request, max_message_bytes)
    end = summary.end
    for batch in batch_rows(table[len(appended) :]) if len(appended) < len(table) else ():
        _check_magic(batch)  # batches that are left out need only a known magic
        end = batch.end
    if len(view) > end:
        _check_tail(view, end)
    return AppendInfo(appended, summary)


def check_batches(table: NDArray[np.void], request: AppendRequest, max_message_bytes: int) -> None:
    """Raise for the first refused batch, with the first reason in Kafka's order."""
    last_offset = -1
    for batch in batch_rows(table):
        _check_magic(batch)
        if request.origin is AppendOrigin.CLIENT and batch.magic >= 2 and batch.base_offset and not request.trusted:
            raise InvalidBatchError(f"{batch} has base offset {batch.base_offset}, but a producer must send 0")
        if request.origin is not AppendOrigin.REPLICATION:
            check_size(batch, max_message_bytes)
        _check_soundness(batch)
        if not request.origin.assigns_offsets and batch.last_offset <= last_offset:
            found = f"{batch} ends at offset {batch.last_offset}"
            raise OffsetsOutOfOrderError(f"{found}, expected more than {last_offset}")
        last_offset = batch.last_offset


def clearly_sound(summary: BatchSummary, request: AppendRequest, max_message_bytes: int) -> bool:
    """Whether the summary alone shows that `check_batches` would accept all batches; False: it is not certain."""
    if summary.flaws & _REFUSED or summary.max_codec > _LARGEST_CODEC:
        return False
    origin = request.origin
    if origin is AppendOrigin.REPLICATION:
        return summary.ascending
    if summary.max_size > max_message_bytes:
        return False
    return request.trusted or summary.from_zero or origin is AppendOrigin.COORDINATOR


def check_size(batch: BatchRow, max_message_bytes: int) -> None:
    if batch.size > max_message_bytes:
        expected = f"expected at most max.message.bytes, {max_message_bytes}"
        raise RecordTooLargeError(f"{batch} has {batch.size} bytes, {expected}")


def _before_later_epochs(table: NDArray[np.void], leader_epoch: int) -> NDArray[np.void]:
    """The batches before the first one whose leader epoch is later than the follower's.

    A leader that is replaced while it answers may include batches of its successor (KAFKA-18723).
    """
    epochs = table["partition_leader_epoch"]
    later = ((epochs != layout.NO_LEADER_EPOCH) & (epochs > leader_epoch)).nonzero()[0]
    return table[: later[0]] if len(later) else table


def _check_magic(batch: BatchRow) -> None:
    if batch.flaws & _UNKNOWN_MAGIC:
        raise CorruptBatchError(f"{batch} has magic {batch.magic}, expected 0, 1 or 2")


def _check_soundness(batch: BatchRow) -> None:
    if batch.flaws & _TOO_SHORT:
        expected = f"expected at least the {layout.BATCH_OVERHEAD} of its header"
        raise CorruptBatchError(f"{batch} has {batch.size} bytes, {expected}")
    if batch.flaws & BROKEN:
        raise CorruptBatchError(f"{batch} does not match its stored CRC, {batch.crc}")
    if batch.codec_id > _LARGEST_CODEC:
        raise UnforeseenBatchError(f"{batch} has codec {batch.codec_id}, expected 0 to {_LARGEST_CODEC}")


def _check_tail(view: memoryview, at: int) -> None:
    """Check that the bytes after the last whole batch are the beginning of another one."""
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
