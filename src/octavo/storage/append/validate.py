"""The leader's validation of an append: which records the topic accepts, and which offsets and times they get.

`assign_offsets` runs under the log's lock, after `append_info.examine`. It decides what happens to the batches: changed
in place (`in_place`), encoded again (`rebuild`), or converted from an older format (`old_formats`).
"""

from __future__ import annotations

from octavo.errors import InvalidBatchError, UnforeseenBatchError
from octavo.format.batches.batch_row import BatchRow, batch_rows
from octavo.format.compression import Codec
from octavo.kernels import layout
from octavo.storage.append.append_info import AppendInfo
from octavo.storage.append.assignment import Assignment, WritableBatches
from octavo.storage.append.in_place import assign_in_place, check_in_place, headers_suffice, keeps_codec
from octavo.storage.append.old_formats import convert
from octavo.storage.append.rebuild import rebuild
from octavo.storage.append_origin import AppendOrigin, AppendRequest


def assign_offsets(
    view: memoryview, info: AppendInfo, request: AppendRequest, assignment: Assignment
) -> WritableBatches:
    """The examined batches (`info`, with positions relative to the start of `view`), ready to be written.

    Raises a child of AppendRejected, with Kafka's error, if Kafka would refuse them. Otherwise a writable buffer may be
    changed in place, and the table with it; a read-only one is copied.

    The v2 batches of a trusted request come from Octavo's own encoder, so their headers are correct: the record count,
    the numbering 0, 1, 2, … within each batch, and the largest timestamp. Records are then decoded only if the headers
    do not suffice (null keys, the oldest timestamp) or the codec changes, and there may be several batches.
    """
    table, summary = info
    rows, source = len(table), info.source_codec
    if not rows:
        raise InvalidBatchError("a set without a batch, expected one")
    if rows > 1 and not request.trusted and (source is not Codec.NONE or summary.first_magic >= 2):
        raise InvalidBatchError(f"a set of {rows} batches, expected one")
    view = view[: summary.end]
    codec = assignment.settings.codec
    target = source if codec is None else codec
    if summary.first_magic < 2:
        return convert(view, table, target, assignment)
    if request.origin is AppendOrigin.CLIENT and not summary.produced:
        for batch in batch_rows(table):
            check_header(batch)
    if codec is not None and not keeps_codec(table, codec):
        return rebuild(view, table, target, assignment)
    if request.trusted and headers_suffice(summary, assignment):
        return assign_in_place(view, info, None, assignment)
    max_timestamps = check_in_place(view, table, assignment, trusted=request.trusted)
    if max_timestamps is not None:
        return assign_in_place(view, info, max_timestamps, assignment)
    if source is not Codec.NONE:
        # Kafka tries to rebuild such a batch, but has already skipped its keys and values.
        raise UnforeseenBatchError("a compressed batch whose records are not numbered 0, 1, 2, …")
    return rebuild(view, table, target, assignment)


def check_header(batch: BatchRow) -> None:
    """Check the header of a producer's v2 batch; a coordinator's is not checked."""
    count, delta = batch.record_count, batch.last_offset_delta
    if count <= 0:
        raise InvalidBatchError(f"{batch} has {count} records, expected 1 or more")
    if delta != count - 1:
        raise InvalidBatchError(f"{batch} has last offset delta {delta}, expected {count - 1} (its record count - 1)")
    if batch.is_control:
        raise InvalidBatchError(f"{batch} is a control batch, which no producer may write")
    if batch.producer_id > layout.NO_PRODUCER_ID and batch.base_sequence < 0:
        found = f"base sequence {batch.base_sequence} of producer id {batch.producer_id}"
        raise InvalidBatchError(f"{batch} has {found}, expected 0 or more")
