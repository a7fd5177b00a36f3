"""Rolling: when the active segment is closed and a new one begun, decided over plain values, and how."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, Protocol

from octavo.config import LogConfig
from octavo.errors import OctavoError
from octavo.format.entry_layout import INT32_MAX
from octavo.format.names import SegmentFile
from octavo.storage.log.flush import flush
from octavo.storage.log.log import Log
from octavo.storage.segment.segment_files import KINDS


class RollReason(StrEnum):
    """Why a segment is rolled."""

    SIZE = "size"
    TIME = "time"
    INDEX_FULL = "index full"
    OFFSET_RANGE = "offset range"


class ActiveSegment(Protocol):
    """What the decision looks at: a `Segment` has it all, some of it only when asked."""

    @property
    def base_offset(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def first_timestamp(self) -> int: ...  # of the first batch, -1 for none
    @property
    def created_ms(self) -> int: ...
    @property
    def jitter_ms(self) -> int: ...
    @property
    def is_index_full(self) -> bool: ...


class Incoming(NamedTuple):
    """What the decision looks at in the batches to append."""

    size: int
    last_offset: int
    max_timestamp: int


def roll_reason(active: ActiveSegment, incoming: Incoming, config: LogConfig, now_ms: int) -> RollReason | None:
    """Why the segment must be rolled before the append, None if it need not be.

    Age is counted in the records' timestamps, so that a copy rolls where the original did; the clock counts only if
    the first batch has no timestamp.
    """
    if active.size > config.segment_bytes - incoming.size:
        return RollReason.SIZE
    first_timestamp = active.first_timestamp
    waited_ms = incoming.max_timestamp - first_timestamp if first_timestamp >= 0 else now_ms - active.created_ms
    max_ms = config.segment_ms
    if "compact" in config.cleanup_policy:  # records must leave the active segment in time to be compacted
        max_ms = min(max_ms, config.max_compaction_lag_ms)
    if active.size > 0 and waited_ms > max_ms - active.jitter_ms:
        return RollReason.TIME
    if active.is_index_full:
        return RollReason.INDEX_FULL
    if not 0 <= incoming.last_offset - active.base_offset <= INT32_MAX:
        return RollReason.OFFSET_RANGE
    return None


def new_base_offset(first_offset: int | None, last_offset: int, log_end_offset: int) -> int:
    """Where the new segment begins; if an old format hides the first offset, at the smallest that it can be."""
    return max(last_offset - INT32_MAX if first_offset is None else first_offset, log_end_offset)


def roll(log: Log, base_offset: int) -> None:
    """Close the active segment and begin another at the offset, or at the log's end if that is larger.

    The log's lock is held. 1. Remove files of that base offset that a crash may have left. 2. Close the old segment:
    closing time index entry, files trimmed. 3. If the recovery point is at the log's end, sync the old segment: nobody
    would do it later, and no recovery would look there. 4. Create the new log file. 5. Take it into the log and move
    the end. 6. Write a snapshot of the producers at the new base offset, synced only if the recovery point is there
    already. 7. In the background, flush everything before the new segment, the snapshot first. A crash before 5 leaves
    an empty segment that loading finds, or none; the old one is whole either way. A crash before 7 is recovered from.
    """
    base_offset = max(base_offset, log.log_end.offset)
    active = log.segments.active
    if base_offset == active.base_offset and active.size == 0:
        # An index without room is full from the start: the segment makes way for a fresh one.
        log.deleter.delete_segments([active], log.config.file_delete_delay_ms)
    elif base_offset <= active.base_offset:
        raise OctavoError(
            f"{log.folder}: cannot roll to offset {base_offset}, "
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
