"""Shortens a log: at its start, as retention and DeleteRecords do, and at its end by truncation."""

from __future__ import annotations

from collections.abc import Sequence

from octavo.errors import OctavoError
from octavo.storage.log import retain
from octavo.storage.log.flush import flush
from octavo.storage.log.log import Log
from octavo.storage.log.retain import LogFacts, SegmentFacts, Verdict
from octavo.storage.log.roll import roll
from octavo.storage.segment.segment import Segment


def retention_round(log: Log, *, dry_run: bool) -> list[Verdict]:
    """Drop the segments that exceed a limit; returns what happens to each segment and why. The lock is held.

    1. If all would be dropped, roll first. 2. Raise the log start to the first segment that stays. 3. Take the dropped
    segments out of the log, rename their files to `.deleted`, and remove them after file.delete.delay.ms. A crash
    leaves segments that the next round drops, or `.deleted` files, which loading with upkeep removes.
    """
    segments = list(log.segments)
    ends = [*log.segments.base_offsets[1:], log.log_end_offset]
    facts = [
        SegmentFacts(segment.base_offset, end, segment.size, segment.largest_timestamp, segment is segments[-1])
        for segment, end in zip(segments, ends, strict=True)
    ]
    log_facts = LogFacts(log.log_start_offset, log.high_watermark, log.environment.clock.time_ms())
    verdicts = retain.verdicts(facts, log_facts, log.config)
    dropped = {verdict.base_offset for verdict in verdicts if verdict.reason is not None}
    gone = [segment for segment in segments if segment.base_offset in dropped]
    if not gone or dry_run:
        return verdicts
    if len(gone) == len(segments):
        roll(log, log.log_end_offset)
    following = log.segments.after(gone[-1])
    assert following is not None, "a log without a segment"
    advance_log_start(log, following.base_offset)
    _delete_segments(log, gone)
    return verdicts


def advance_log_start(log: Log, offset: int) -> None:
    """Move the log start to a later offset, up to the log's end: readers get nothing before it. Segments stay."""
    with log.lock:
        if offset <= log.log_start_offset:
            return
        # The recovery point must not pass unsynced data: a power loss would leave zeros in the middle of the log.
        flush(log, offset, in_change=True)
        log.log_start_offset = offset
        if log.high_watermark < offset:
            log.update_high_watermark(offset)
        log.recovery_point = max(log.recovery_point, offset)
        log.epochs.truncate_from_start(offset)
        log.producers.advance_log_start(offset, log.producers.snapshots.latest_offset)
        log.refresh_first_unstable()


def truncate_to(log: Log, offset: int) -> bool:
    """Drop every batch that holds the offset or comes after it; returns whether the log changed. The lock is held.

    1. Schedule the deletion of the segments after the offset and of their snapshots. 2. Cut the active segment. 3. Move
    the log's end, and with it the recovery point: anything after it on disk must be checked after a crash. 4. Cut the
    epochs. 5. Lower the log start to the offset if it lies above. 6. Restore the producers' state as of the offset. 7.
    Lower the high watermark likewise. A crash leaves a log that is too long; the caller has to truncate again.
    """
    if offset < 0:
        raise OctavoError(f"{log.folder}: cannot truncate to offset {offset}, expected 0 or more")
    if offset >= log.log_end_offset:
        log.epochs.truncate_from_end(log.log_end_offset)
        return False
    if log.segments.first.base_offset > offset:
        truncate_fully(log, offset)
        return True
    log.cuts += 1
    gone = [segment for segment in log.segments if segment.base_offset > offset]
    if gone:
        _delete_segments(log, gone)
        # Otherwise a power loss could bring the old names back, beyond what is appended next.
        log.environment.filesystem.fsync_folder(log.folder)
    log.segments.active.truncate_to(offset)
    log.set_log_end(offset)
    log.epochs.truncate_from_end(offset)
    log.log_start_offset = min(log.log_start_offset, offset)
    log.producers.rebuild(log.segments, log.log_start_offset, offset, clean=False)
    log.update_high_watermark(min(log.high_watermark, offset))
    return True


def truncate_fully(log: Log, offset: int, log_start_offset: int | None = None) -> None:
    """Drop everything and start again at an offset. A later log start hides offsets that the leader no longer has."""
    log.cuts += 1
    gone = list(log.segments)
    log.deleter.delete_segments(gone, log.config.file_delete_delay_ms)
    log.segments.replace(gone, [log.new_segment(offset)])
    log.environment.filesystem.fsync_folder(log.folder)
    log.set_log_end(offset)
    log.epochs.clear()
    log.producers.start_over_at(offset)
    log.log_start_offset = offset if log_start_offset is None else log_start_offset
    log.producers.rebuild(log.segments, log.log_start_offset, offset, clean=False)
    log.update_high_watermark(offset)


def delete_snapshots(log: Log, segments: Sequence[Segment]) -> None:
    """Delete the producer snapshots at the segments' base offsets after a delay."""
    renamed = log.producers.snapshots.mark_deleted(segment.base_offset for segment in segments)
    log.deleter.delete_paths(renamed, log.config.file_delete_delay_ms)


def _delete_segments(log: Log, segments: Sequence[Segment]) -> None:
    """Take segments out of the log and delete their files, and their snapshots, after a delay."""
    log.is_changed = True
    log.segments.remove(segments)
    log.deleter.delete_segments(segments, log.config.file_delete_delay_ms)
    delete_snapshots(log, segments)
