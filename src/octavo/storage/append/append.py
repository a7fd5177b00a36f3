"""Appends to a partition's log: every step from incoming bytes to the new log end."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from octavo.config import LogConfig
from octavo.errors import AppendRejected, RecordBatchTooLargeError, UnexpectedAppendOffsetError
from octavo.kernels.layout import NO_TIMESTAMP
from octavo.storage.append.append_info import AppendInfo, examine
from octavo.storage.append.assignment import Assignment, WritableBatches
from octavo.storage.append.plain import assign_plain, survey
from octavo.storage.append.validate import assign_offsets
from octavo.storage.append_origin import AppendRequest
from octavo.storage.log.flush import maybe_flush
from octavo.storage.log.log import Log
from octavo.storage.log.read import OffsetMetadata
from octavo.storage.log.roll import new_base_offset, roll, roll_reason
from octavo.storage.producers.check import NO_PRODUCERS

if TYPE_CHECKING:
    from typing_extensions import Buffer

# Half as much costs more calls; twice as much no longer fits into the CPU's cache and takes twice as long (measured).
_MOST_AT_ONCE = 2 << 20
_SETS_PER_SEGMENT = 16


class AppendResult(NamedTuple):
    """The outcome of an append; the offsets are -1 if there was no whole batch."""

    first_offset: int
    last_offset: int
    log_append_time: int  # -1 if none was assigned; for a duplicate, the largest timestamp of the batch in the log
    log_start_offset: int
    is_duplicate: bool = False  # the batch is already in the log, with these offsets


def set_bytes(config: LogConfig) -> int:
    """How many bytes of batches to append at once, unless a single batch is larger.

    A set goes into one segment, so a segment may end early by up to the size of a set.
    """
    return min(_MOST_AT_ONCE, max(config.segment_bytes // _SETS_PER_SEGMENT, 1))


def append(log: Log, data: Buffer, request: AppendRequest) -> AppendResult:
    """Append whole batches; raises a child of AppendRejected where Kafka would refuse them, and then appends nothing.

    Batches are walked and checked before the lock is taken. What nearly every producer sends, one plain batch, needs
    only a survey; if it turns out that the topic may refuse or change the batch, it is walked and checked under the
    lock. The steps under the lock: 1. Assign offsets, or check the existing ones. 2. Record leader epochs. 3.
    Roll if necessary. 4. Check producers' epochs and sequences. 5. Write, with one write. 6. Move the log's end. 7.
    Update the producers; for each completed transaction write its index entry if it was aborted, then update the open
    transactions. 8. Raise the high watermark if there is no other replica. Then flush if flush.messages requires it. A
    crash before 5 leaves at most an empty segment, and an epoch beyond the end, which loading drops; a crash after 5
    leaves batches that were never acknowledged.
    """
    log.check_usable("append")
    view = memoryview(data).cast("B")
    max_message_bytes, info = log.settings.max_message_bytes, None
    surveyed = survey(view, request, log.settings)
    if surveyed is None:
        info = examine(view, request, max_message_bytes)
        if not info.summary.end:
            return AppendResult(-1, -1, NO_TIMESTAMP, log.log_start_offset)
    try:
        with log.lock:
            log.make_certain("append")
            log.is_uncertain = True  # until the end is reached; after an interrupt the log is loaded again
            try:
                now_ms, batches = log.environment.clock.time_ms(), None
                assigned = log.log_end.offset, now_ms, request.leader_epoch, log.settings
                if surveyed is not None:
                    batches = assign_plain(view, surveyed, *assigned)
                if batches is None:
                    info = info or examine(view, request, max_message_bytes)
                    if request.origin.assigns_offsets:
                        batches = assign_offsets(view, info, request, Assignment(*assigned))
                    else:
                        batches = _keep_offsets(log, view, info)
                result = _write(log, batches, request, now_ms)
            except AppendRejected:
                log.is_uncertain = False
                raise
            log.is_uncertain = False
        maybe_flush(log)
    except OSError as error:
        raise log.failed("append", error) from error
    log.tell_watchers()
    return result


def _keep_offsets(log: Log, view: memoryview, info: AppendInfo) -> WritableBatches:
    """Steps 1 and 2 for batches that keep their offsets, which must not lie before the log's end."""
    summary, first_offset = info.summary, info.first_offset
    reached = summary.first_last_offset if first_offset is None else first_offset
    if reached < log.log_end_offset:
        raise UnexpectedAppendOffsetError(reached, summary.last_offset, log.log_end_offset)
    if not log.epochs.is_continued(summary):
        log.epochs.assign_batches(info.table)
    max_timestamp = max(summary.max_timestamp, NO_TIMESTAMP)
    data = view[: summary.end]
    return WritableBatches(data, info.table, first_offset, summary.last_offset, max_timestamp, summary.with_producers)


def _write(log: Log, batches: WritableBatches, request: AppendRequest, now_ms: int) -> AppendResult:
    """Steps 3 to 8; for batches whose offsets were assigned also step 2."""
    data, table, first_offset, last_offset, max_timestamp, with_producers, log_append_time = batches
    if request.origin.assigns_offsets and request.leader_epoch >= 0:  # the epoch that all batches were just given
        log.epochs.assign(request.leader_epoch, log.log_end.offset)
    config, active = log.config, log.segments.active
    if len(data) > config.segment_bytes:
        expected = f"expected at most segment.bytes, {config.segment_bytes}"
        raise RecordBatchTooLargeError(f"a set of {len(data)} bytes, {expected}")
    if roll_reason(active, len(data), last_offset, max_timestamp, config, now_ms) is not None:
        roll(log, new_base_offset(first_offset, last_offset, log.log_end.offset))
        active = log.segments.active
    producers, change = log.producers, NO_PRODUCERS
    if with_producers:
        change = producers.check(data, table, request.origin, request.transaction_version)
    if (known := change.duplicate) is not None:
        place = known.first_offset, known.last_offset, known.timestamp
        return AppendResult(*place, log.log_start_offset, is_duplicate=True)
    log.is_changed = True
    active.append(last_offset, data, table)
    log.log_end = OffsetMetadata(last_offset + 1, active.base_offset, active.size)
    if change is not NO_PRODUCERS:
        producers.apply(change)
        if change.continued is None:  # else no transaction begins or ends
            for completed in change.completed:
                entry = producers.transactions.index_entry(completed)
                if entry is not None:
                    active.files.txn_index.append(entry)
                producers.transactions.complete(completed)
            log.refresh_first_unstable()
    producers.map_end_offset = last_offset + 1
    if log.is_sole_replica:
        log.high_watermark_to_end()
    first_offset = last_offset if first_offset is None else first_offset
    return AppendResult(first_offset, last_offset, log_append_time, log.log_start_offset)
