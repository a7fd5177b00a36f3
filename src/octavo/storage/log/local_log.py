"""The segments of a log as one sequence: its end, its rolls, what is flushed of it, and cuts at both ends.

Producers, epochs and watermarks are `partition_log`'s business; every method but `flush` expects its lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from octavo.config import LogConfig
from octavo.errors import OctavoError
from octavo.format.names import SegmentFile
from octavo.storage.environment import Environment
from octavo.storage.log.read import OffsetMetadata
from octavo.storage.log.roll import ActiveSegment, Incoming, RollReason, roll_reason
from octavo.storage.segment.delete import Deleter
from octavo.storage.segment.segment import Segment
from octavo.storage.segment.segment_files import KINDS
from octavo.storage.segment.segments import Segments

if TYPE_CHECKING:
    from typing_extensions import Buffer


class LocalLog:
    """Segments without gaps in ownership: each offset from the first base on belongs to one of them."""

    def __init__(
        self, folder: Path, config: LogConfig, environment: Environment, segments: Segments, log_end_offset: int
    ) -> None:
        self.folder = folder
        self.config = config
        self.segments = segments
        self.recovery_point = log_end_offset
        self._environment = environment
        self._deleter = Deleter(environment.filesystem, environment.scheduler)
        self.log_end = OffsetMetadata(0, 0, 0)
        self.set_log_end(log_end_offset)
        self.is_changed = False  # since it was loaded
        self.cuts = 0  # how often its end was cut

    @property
    def log_end_offset(self) -> int:
        return self.log_end.offset

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self.segments)

    def set_log_end(self, offset: int) -> None:
        """Move the log's end; the recovery point never lies behind it."""
        self.is_changed = True
        active = self.segments.active
        self.log_end = OffsetMetadata(offset, active.base_offset, active.size)
        self.recovery_point = min(self.recovery_point, offset)

    def append(self, last_offset: int, data: Buffer, table: NDArray[np.void]) -> None:
        """Append to the active segment and move the end."""
        self.is_changed = True
        active = self.segments.active
        active.append(last_offset, data, table)
        self.log_end = OffsetMetadata(last_offset + 1, active.base_offset, active.size)

    def roll_reason(self, incoming: Incoming) -> RollReason | None:
        """Why the active segment must be rolled before this is appended."""
        active = self.segments.active
        facts = ActiveSegment(
            active.base_offset,
            active.size,
            active.first_timestamp,
            active.created_ms,
            active.jitter_ms,
            active.is_index_full,
        )
        return roll_reason(facts, incoming, self.config, self._environment.clock.time_ms())

    def roll(self, base_offset: int) -> Segment:
        """Close the active segment and begin another at the offset, or at the log's end if that is larger.

        1. Remove files of that base offset that a crash may have left. 2. Close the old segment: closing time index
        entry, files trimmed. 3. If the recovery point is at the log's end, sync that: nobody would do it later, and no
        recovery would look there. 4. Create the new log file. 5. Take it into the map and move the end. A crash before
        5 leaves an empty segment that loading finds, or none; the old one is whole either way.
        """
        base_offset = max(base_offset, self.log_end.offset)
        active = self.segments.active
        if base_offset == active.base_offset and active.size == 0:
            # An index without room is full from the start: the segment makes way for a fresh one.
            self._deleter.delete_segments([active], self.config.file_delete_delay_ms)
        elif base_offset <= active.base_offset:
            raise OctavoError(
                f"{self.folder}: cannot roll to offset {base_offset}, "
                f"the active segment with base offset {active.base_offset} has {active.size} bytes"
            )
        else:
            for kind in KINDS:
                self._environment.filesystem.unlink(self.folder / SegmentFile(base_offset, kind).name)
            active.close_out()
            if self.recovery_point >= self.log_end.offset:
                active.files.flush()
        segment = self.new_segment(base_offset)
        self.segments.add(segment)
        self.set_log_end(self.log_end.offset)
        return segment

    def new_segment(self, base_offset: int) -> Segment:
        """An empty segment, not yet in the map."""
        world = self._environment
        return Segment(self.folder, base_offset, self.config, world.filesystem, world.clock, create=True)

    def flush(self, up_to: int, *, with_folder: bool = False) -> None:
        """Sync what lies between the recovery point and an offset. Needs no lock: appends go on meanwhile.

        1. Sync log and indexes of each segment concerned. 2. Sync the folder, for the names, if one of the segments or
        a transaction index is new: nobody would miss that one after a crash, and aborted records would be delivered.
        The caller moves the recovery point after that.
        """
        segments = self.segments.overlapping(self.recovery_point, up_to)
        for segment in segments:
            try:
                segment.files.flush()
            except FileNotFoundError:
                if self.segments.floor(segment.base_offset) is segment:
                    raise
                # Retention has deleted it meanwhile.
        new_indexes = [segment.files.txn_index for segment in segments if segment.files.txn_index.is_new]
        if with_folder or new_indexes or any(segment.base_offset >= self.recovery_point for segment in segments):
            self._environment.filesystem.fsync_folder(self.folder)
        for index in new_indexes:
            index.is_new = False

    def delete_segments(self, segments: Sequence[Segment]) -> None:
        """Take segments out of the map and delete their files after a delay."""
        self.is_changed = True
        self.segments.remove(segments)
        self._deleter.delete_segments(segments, self.config.file_delete_delay_ms)

    def delete_paths(self, paths: Sequence[Path]) -> None:
        """Delete other files, renamed to `.deleted` already, after the same delay."""
        self._deleter.delete_paths(paths, self.config.file_delete_delay_ms)

    def truncate_to(self, offset: int) -> list[Segment]:
        """Cut the log's end down to an offset that lies in it; returns the segments that went."""
        self.cuts += 1
        gone = [segment for segment in self.segments if segment.base_offset > offset]
        self.delete_segments(gone)
        if gone:
            # Else a power loss could bring their names back, behind what is appended next.
            self._environment.filesystem.fsync_folder(self.folder)
        self.segments.active.truncate_to(offset)
        self.set_log_end(offset)
        return gone

    def truncate_fully(self, offset: int) -> list[Segment]:
        """Drop everything and begin anew at the offset; returns the segments that went."""
        self.cuts += 1
        gone = list(self.segments)
        self._deleter.delete_segments(gone, self.config.file_delete_delay_ms)
        self.segments.replace(gone, [self.new_segment(offset)])
        self._environment.filesystem.fsync_folder(self.folder)
        self.set_log_end(offset)
        return gone

    def release(self) -> None:
        """Give all descriptors and mappings back; the next use opens them again."""
        for segment in self.segments:
            segment.files.release()
