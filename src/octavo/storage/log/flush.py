"""Syncing a log to the disk and moving its recovery point, while appends go on."""

from __future__ import annotations

from contextlib import suppress

from octavo.storage.log.log import Log


def maybe_flush(log: Log) -> bool:
    """Flush if flush.messages records wait for it."""
    log_end_offset = log.log_end.offset
    if log_end_offset - log.recovery_point < log.config.flush_messages:
        return False
    flush(log, log_end_offset)
    return True


def flush(log: Log, up_to: int, *, with_empty_active: bool = False, in_change: bool = False) -> None:
    """Sync everything before an offset and move the recovery point there. The lock is taken only at the end.

    `in_change`: the caller holds the lock, in the middle of a change of its own.
    """
    while up_to > log.recovery_point or with_empty_active:
        cuts, end = log.cuts, up_to + 1 if with_empty_active else up_to
        active = log.segments.active
        log.producers.snapshots.sync_up_to(up_to)
        try:
            sync_segments(log, end, with_folder=with_empty_active)
        except FileNotFoundError:
            with log.lock:  # the cleaner was just renaming a file; under the lock all keep their names
                sync_segments(log, end, with_folder=with_empty_active)
        with log.lock:
            if log.is_uncertain and not in_change and not log.is_closed:
                log.make_certain("flush")  # else recovery would no longer look at what was interrupted
            if log.cuts != cuts:
                # What was cut off meanwhile may have been written again, after its old bytes were synced.
                up_to = min(up_to, log.log_end_offset)
                continue
            if log.segments.active is not active and up_to > active.base_offset:
                with suppress(FileNotFoundError):  # retention may have taken it
                    active.files.flush()  # a roll has closed it since it was synced, and nobody would sync that later
            log.recovery_point = max(log.recovery_point, min(up_to, log.log_end_offset))
            log.last_flush_ms = log.environment.clock.monotonic_ms()
            return


def sync_segments(log: Log, up_to: int, *, with_folder: bool) -> None:
    """Sync what lies between the recovery point and an offset.

    1. Sync log and indexes of each segment in that range. 2. Sync the folder, for the names, if one of the segments or
    a transaction index is new: a lost transaction index would go unnoticed, and aborted records would be delivered.
    """
    recovery_point = log.recovery_point
    segments = log.segments.overlapping(recovery_point, up_to)
    for segment in segments:
        try:
            segment.files.flush()
        except FileNotFoundError:
            if log.segments.floor(segment.base_offset) is segment:
                raise
            # Retention has deleted it meanwhile.
    new_indexes = [segment.files.txn_index for segment in segments if segment.files.txn_index.is_new]
    if with_folder or new_indexes or any(segment.base_offset >= recovery_point for segment in segments):
        log.environment.filesystem.fsync_folder(log.folder)
    for index in new_indexes:
        index.is_new = False
