"""Rolling: decides when a new segment begins, and begins it."""

from __future__ import annotations

from enum import StrEnum

from octavo.config import LogConfig
from octavo.errors import OctavoError
from octavo.format.names import SegmentFile
from octavo.kernels.integers import INT32_MAX
from octavo.storage.log.flush import flush
from octavo.storage.log.log import Log
from octavo.storage.segment.segment import Segment
from octavo.storage.segment.segment_files import KINDS


class RollReason(StrEnum):
    """Why a segment is rolled."""

    SIZE = "size"
    TIME = "time"
    INDEX_FULL = "index full"
    OFFSET_RANGE = "offset range"


def roll_reason(
    active: Segment, size: int, last_offset: int, max_timestamp: int, config: LogConfig, now_ms: int
) -> RollReason | None:
    """Why the segment must be rolled before batches with this size, last offset and largest timestamp are appended;
    None if it need not be.

    Age is measured by the records' timestamps, so that a copy rolls where the original did. The clock is used only if
    there is no first batch with a timestamp.
    """
    active_size = active.size
    if active_size > config.segment_bytes - size:
        return RollReason.SIZE
    first_timestamp = active.first_timestamp
    waited_ms = max_timestamp - first_timestamp if first_timestamp >= 0 else now_ms - active.created_ms
    max_ms = config.segment_ms
    if "compact" in config.cleanup_policy:  # records must leave the active segment in time to be compacted
        max_ms = min(max_ms, config.max_compaction_lag_ms)
    if active_size > 0 and waited_ms > max_ms - active.jitter_ms:
        return RollReason.TIME
    if active.is_index_full:
        return RollReason.INDEX_FULL
    if not 0 <= last_offset - active.base_offset <= INT32_MAX:
        return RollReason.OFFSET_RANGE
    return None


def new_base_offset(first_offset: int | None, last_offset: int, log_end_offset: int) -> int:
    """The base offset of the new segment: the smallest possible one if an old format hides the first offset."""
    return max(last_offset - INT32_MAX if first_offset is None else first_offset, log_end_offset)


def roll(log: Log, base_offset: int) -> None:
    """Close the active segment and begin another at the offset, or at the log's end if that is larger.

    The log's lock is held. 1. Remove files with that base offset that a crash may have left. 2. Close the old segment:
    write its closing time index entry, trim its files. 3. If the recovery point is at the log's end, sync the old
    segment: no later flush and no recovery would look at it. 4. Create the new log file. 5. Add it to the log, and let
    the log's end point to its first byte. 6. Write a snapshot of the producers at the new base offset, synced only if
    the recovery point is already there. 7. In the background, flush everything before the new segment, the snapshot
    first. A crash before 5 leaves at most an extra empty segment, which loading finds; the old one is complete either
    way. After a crash before 7, recovery checks what was not flushed.
    """
    base_offset = max(base_offset, log.log_end.offset)
    active = log.segments.active
    if base_offset == active.base_offset and active.size == 0:
        # An index too small for a single entry is full from the start: replace the empty segment.
        log.deleter.delete_segments([active], log.config.file_delete_delay_ms)
    elif base_offset <= active.base_offset:
        raise OctavoError(
            f"{log.folder}: cannot roll to offset {base_offset}: "
            f"the active segment with base offset {active.base_offset} has {active.size} bytes"
        )
    else:
        for kind in KINDS:
            log.environment.filesystem.unlink(log.folder / SegmentFile(base_offset, kind).name)
        active.close_out()
        if log.recovery_point >= log.log_end.offset:
            active.files.flush()
    was_at_end = log.high_watermark >= log.log_end.offset
    log.segments.add(log.new_segment(base_offset))
    log.set_log_end(log.log_end.offset)
    log.producers.map_end_offset = base_offset
    log.producers.write_snapshot(sync=log.recovery_point >= base_offset)
    if was_at_end:
        log.high_watermark_to_end()

    def flush_closed() -> None:
        if not log.is_closed:
            with log.usable("flush"):
                flush(log, base_offset)

    log.environment.scheduler.schedule("flush-log", flush_closed)
