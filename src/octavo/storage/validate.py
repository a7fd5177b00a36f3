"""Validation of an append by a leader: which records the topic takes, and what it gives to their batches.

`assign_offsets` runs under the log's lock, behind `append_info.analyze`. It finds out which way the batches go: in
place (`in_place`), built anew (`rebuild`), or converted from an older format (`old_formats`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from octavo.errors import InvalidBatchError, UnforeseenBatchError
from octavo.format.batch_row import BatchRow
from octavo.format.compression import Codec
from octavo.kernels import layout
from octavo.storage.append_info import source_codec
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.assignment import Assignment, Validated
from octavo.storage.batch_row import batch_row, batch_rows, summarize
from octavo.storage.in_place import assign_in_place, check_in_place, headers_suffice, keeps_codec
from octavo.storage.old_formats import convert
from octavo.storage.rebuild import rebuild
from octavo.storage.validation_settings import ValidationSettings

if TYPE_CHECKING:
    from typing_extensions import Buffer


def assign_offsets(
    data: Buffer,
    table: NDArray[np.void],
    *,
    first_offset: int,
    now_ms: int,
    origin: AppendOrigin,
    settings: ValidationSettings,
    leader_epoch: int,
    trusted: bool = False,
) -> Validated:
    """The batches of an analysed set (its `table`, positions counting from the start of `data`) as they are written.

    Raises a child of AppendRejected, with Kafka's error, where Kafka would refuse the set. Else a writable buffer may
    be changed in place, and the table with it; a read-only one is copied and left alone.

    `trusted` says that Octavo's own encoder made the v2 batches, so that their headers tell the truth: records of that
    count, numbered 0, 1, 2, … within each batch, none later than the largest timestamp. Then records are looked at only
    where headers do not suffice (null keys, the oldest timestamp), and a set may have several batches. The outcome is
    the same as without it.
    """
    assignment = Assignment(first_offset, now_ms, leader_epoch, settings)
    if not len(table):
        raise InvalidBatchError("a set without a batch, expected one")
    first = batch_row(table, 0)
    source = source_codec(table)
    if len(table) > 1 and not trusted and (source is not Codec.NONE or first.magic >= 2):
        raise InvalidBatchError(f"a set of {len(table)} batches, expected one")
    view = memoryview(data).cast("B")[: first.end if len(table) == 1 else batch_row(table, -1).end]
    target = source if settings.codec is None else settings.codec
    if first.magic < 2:
        return convert(view, table, target, assignment)
    if origin is AppendOrigin.CLIENT and (len(table) == 1 or not summarize(table).produced):
        for batch in batch_rows(table):
            check_header(batch)
    if not keeps_codec(table, settings):
        return rebuild(view, table, target, assignment)
    if trusted and headers_suffice(table, assignment):
        return assign_in_place(view, table, table["max_timestamp"].copy(), assignment)
    max_timestamps = check_in_place(view, table, assignment, trusted=trusted)
    if max_timestamps is not None:
        return assign_in_place(view, table, max_timestamps, assignment)
    if source is not Codec.NONE:
        # Kafka means to rebuild such a batch, but it has skipped the keys and values.
        raise UnforeseenBatchError("a compressed batch whose records are not numbered 0, 1, 2, …")
    return rebuild(view, table, target, assignment)


def check_header(batch: BatchRow) -> None:
    """What a producer's v2 batch must say of itself; a coordinator's may say anything."""
    count, delta = batch.record_count, batch.last_offset_delta
    if count <= 0 or delta != count - 1:
        raise InvalidBatchError(f"{batch} has {count} records up to offset delta {delta}, expected as many, 1 or more")
    if batch.is_control:
        raise InvalidBatchError(f"{batch} is a control batch, which no producer may write")
    if batch.producer_id > layout.NO_PRODUCER_ID and batch.base_sequence < 0:
        found = f"base sequence {batch.base_sequence} of producer id {batch.producer_id}"
        raise InvalidBatchError(f"{batch} has {found}, expected 0 or more")
