"""Appending to a partition's log: the steps from bytes that came in to a moved log end."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.errors import AppendRejected, RecordBatchTooLargeError, UnexpectedAppendOffsetError
from octavo.format.batches.batch_summary import Summary
from octavo.format.batches.walker import walk
from octavo.kernels.layout import NO_TIMESTAMP
from octavo.storage.append import validate
from octavo.storage.append.append_info import AppendInfo, analyze
from octavo.storage.append.assignment import Assignment
from octavo.storage.append_origin import AppendRequest
from octavo.storage.log.log_state import LogState
from octavo.storage.log.roll import Incoming, new_base_offset
from octavo.storage.producers.check import NO_PRODUCERS

if TYPE_CHECKING:
    from typing_extensions import Buffer


class AppendResult(NamedTuple):
    """What became of an append; offsets are -1 where there was nothing to append."""

    first_offset: int
    last_offset: int
    log_append_time: int  # -1 with CreateTime; of a duplicate the largest timestamp of the batch that is there
    log_start_offset: int
    is_duplicate: bool = False  # the batch is in the log already: these are the offsets that it has there


class _Batches(NamedTuple):
    """Batches as they will be written."""

    data: memoryview
    table: NDArray[np.void]
    first_offset: int | None  # None: of an old format, unknown
    last_offset: int
    max_timestamp: int
    log_append_time: int = NO_TIMESTAMP


def append(state: LogState, data: Buffer, request: AppendRequest) -> AppendResult:
    """Append whole batches; raises a child of AppendRejected where Kafka would refuse them, and writes nothing then.

    Batches are walked and checked before the lock is taken. Under it: 1. Assign offsets, or check those that they
    have. 2. Note leader epochs. 3. Roll if need be. 4. Check producers' epochs and sequences. 5. Write, with one
    write. 6. Move the log's end. 7. Update producers and transactions, the transaction index before the state. A crash
    before 5 leaves at most an empty segment or an epoch beyond the end, which loading drops; after 5, batches that
    nobody was told of.
    """
    view = memoryview(data).cast("B")
    table = walk(view, check_crc=not request.trusted).table  # what was just encoded need not be summed up again
    info = analyze(view, table, request, state.settings.max_message_bytes)
    if not info.found.end:
        return AppendResult(-1, -1, NO_TIMESTAMP, state.log_start_offset)
    with state.lock:
        state.check_open()
        state.is_uncertain = True  # until it has come to its end: what interrupts it leaves work for `heal`
        try:
            if request.origin.assigns_offsets:
                batches = _assigned(state, view, info, request)
            else:
                batches = _given(state, view, info)
            result = _append(state, batches, info.found, request)
        except AppendRejected:
            state.is_uncertain = False
            raise
        state.is_uncertain = False
        return result


def _assigned(state: LogState, view: memoryview, info: AppendInfo, request: AppendRequest) -> _Batches:
    """The batches with the offsets that follow the log's end."""
    now_ms, first_offset = state.environment.clock.time_ms(), state.local.log_end_offset
    assignment = Assignment(first_offset, now_ms, request.leader_epoch, state.settings)
    made = validate.assign_offsets(view, info, request, assignment)
    log_append_time = NO_TIMESTAMP if made.log_append_time is None else made.log_append_time
    return _Batches(made.data, made.table, first_offset, made.last_offset, made.max_timestamp, log_append_time)


def _given(state: LogState, view: memoryview, info: AppendInfo) -> _Batches:
    """The batches with the offsets that they have, which must lie behind the log's end."""
    found = info.found
    if info.first_or_last_offset_of_first_batch < state.local.log_end.offset:
        raise UnexpectedAppendOffsetError(
            info.first_or_last_offset_of_first_batch, found.last_offset, state.local.log_end.offset
        )
    return _Batches(view[: found.end], info.table, info.first_offset, found.last_offset, info.max_timestamp)


def _append(state: LogState, batches: _Batches, found: Summary, request: AppendRequest) -> AppendResult:
    local = state.local
    if not request.origin.assigns_offsets:
        if not state.epochs.is_continued(found):
            state.epochs.assign_batches(batches.table)
    elif request.leader_epoch >= 0:  # all batches are of today's format, and have just been given this epoch
        state.epochs.assign(request.leader_epoch, local.log_end_offset)
    size = len(batches.data)
    if size > state.config.segment_bytes:
        expected = f"expected at most segment.bytes, {state.config.segment_bytes}"
        raise RecordBatchTooLargeError(f"a set of {size} bytes, {expected}")
    if local.roll_reason(Incoming(size, batches.last_offset, batches.max_timestamp)) is not None:
        state.roll(new_base_offset(batches.first_offset, batches.last_offset, local.log_end_offset))
    producers = state.producers.state
    change = NO_PRODUCERS
    if found.with_producers:
        change = producers.check(batches.data, batches.table, request.origin, request.transaction_version)
    if (known := change.duplicate) is not None:
        place = known.first_offset, known.last_offset, known.timestamp
        return AppendResult(*place, state.log_start_offset, is_duplicate=True)
    local.append(batches.last_offset, batches.data, batches.table)
    if change is not NO_PRODUCERS:
        producers.apply(change)
        for completed in change.completed:
            entry = producers.transactions.index_entry(completed)
            if entry is not None:
                local.segments.active.files.txn_index.append(entry)
            producers.transactions.complete(completed)
        state.refresh_first_unstable()
    producers.map_end_offset = batches.last_offset + 1
    first_offset = batches.last_offset if batches.first_offset is None else batches.first_offset
    return AppendResult(first_offset, batches.last_offset, batches.log_append_time, state.log_start_offset)
