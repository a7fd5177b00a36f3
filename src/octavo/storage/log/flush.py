"""Syncs a log to disk and moves its recovery point while appends continue."""

from __future__ import annotations

from contextlib import suppress

from octavo.storage.log.log import Log


def maybe_flush(log: Log) -> None:
    """Flush if at least flush.messages records are unflushed."""
    log_end_offset = log.log_end.offset
    if log_end_offset - log.recovery_point >= log.config.flush_messages:
        flush(log, log_end_offset)


def flush(log: Log, up_to: int, *, with_empty_active: bool = False, in_change: bool = False) -> None:
    """Sync everything before an offset and move the recovery point there.

    The lock is taken only at the end, and to sync again if a file was being renamed.
    `in_change`: the caller holds the lock, in the middle of its own change.
    """
    while up_to > log.recovery_point or with_empty_active:
        cuts, end = log.cuts, up_to + 1 if with_empty_active else up_to
        active = log.segments.active
        log.producers.snapshots.sync_up_to(up_to)
        try:
            sync_segments(log, end, with_folder=with_empty_active)
        except FileNotFoundError:
            with log.lock:  # the cleaner was renaming a file; names cannot change under the lock
                sync_segments(log, end, with_folder=with_empty_active)
        with log.lock:
            if log.is_uncertain and not in_change and not log.is_closed:
                log.make_certain("flush")  # else recovery would skip the interrupted part
            if log.cuts != cuts:
                # The log was cut and perhaps rewritten after the old bytes were synced, so sync again.
                up_to = min(up_to, log.log_end_offset)
                continue
            if log.segments.active is not active and up_to > active.base_offset:
                with suppress(FileNotFoundError):  # retention may have deleted it
                    active.files.flush()  # a roll closed it after the sync, and no later flush would sync that
            log.recovery_point = max(log.recovery_point, min(up_to, log.log_end_offset))
            log.last_flush_ms = log.environment.clock.monotonic_ms()
            return


def sync_segments(log: Log, up_to: int, *, with_folder: bool) -> None:
    """Sync everything between the recovery point and an offset.

    1. Sync the log and the indexes of each segment in that range. 2. Sync the folder, to keep the names, if a segment
    or a transaction index is new. A lost transaction index would go unnoticed, and aborted records would be delivered.
    """
    recovery_point = log.recovery_point
    segments = log.segments.overlapping(recovery_point, up_to)
    for segment in segments:
        try:
            segment.files.flush()
        except FileNotFoundError:
            if log.segments.floor(segment.base_offset) is segment:
                raise
            # Retention has deleted it in the meantime.
    new_indexes = [segment.files.txn_index for segment in segments if segment.files.txn_index.is_new]
    if with_folder or new_indexes or any(segment.base_offset >= recovery_point for segment in segments):
        log.environment.filesystem.fsync_folder(log.folder)
    for index in new_indexes:
        index.is_new = False
