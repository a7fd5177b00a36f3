"""A partition's producers with their snapshots on disk, which save reading the whole log when it is loaded."""

from __future__ import annotations

from octavo.errors import CorruptionError
from octavo.storage.producers.snapshots import SnapshotFiles
from octavo.storage.producers.state import ProducerStateManager
from octavo.storage.segment.segment import Segment
from octavo.storage.segment.segments import Segments
from octavo.system.clock import Clock


class Producers(ProducerStateManager):
    """The producers' state with its snapshots. Used under the log's lock."""

    def __init__(self, snapshots: SnapshotFiles, clock: Clock, *, expiration_ms: int) -> None:
        super().__init__(expiration_ms=expiration_ms)
        self.snapshots = snapshots
        self._clock = clock

    def write_snapshot(self, *, sync: bool = True) -> int | None:
        """Write a snapshot at `map_end_offset`; returns that offset, or None if there is already one there or later."""
        data = self.take_snapshot()
        if data is None:
            return None
        self.snapshots.write(self.map_end_offset, data, sync=sync)
        return self.map_end_offset

    def start_over_at(self, offset: int) -> None:
        """Forget everything, including snapshots: the log starts again at the offset."""
        for snapshot in self.snapshots.offsets:
            self.snapshots.delete(snapshot)
        self.start_at(offset)

    def rebuild(self, segments: Segments, log_start_offset: int, last_offset: int, *, clean: bool) -> None:
        """Bring the state to an offset: load the newest snapshot up to it, then read the rest from the log.

        After a clean stop without any snapshot, as left by brokers before 0.11, there were no producers: empty
        snapshots are written for the last two segments and the end.
        """
        bases = segments.base_offsets[-2:]
        if clean and self.snapshots.latest_offset is None:
            for offset in (*bases, last_offset):
                self.map_end_offset = offset
                self.write_snapshot()
            return
        known_empty = self.is_empty and self.map_end_offset >= last_offset
        self._load_snapshot(log_start_offset, last_offset)
        if last_offset > self.map_end_offset and not known_empty:
            for segment in segments.overlapping(self.map_end_offset, last_offset):
                self.map_end_offset = max(segment.base_offset, self.map_end_offset, log_start_offset)
                if segment.base_offset in bases:
                    self.write_snapshot()
                self._replay_segment(segment, self.map_end_offset, last_offset)
        self.map_end_offset = last_offset
        self.write_snapshot()

    def _load_snapshot(self, log_start_offset: int, last_offset: int) -> None:
        """Start from the newest sound snapshot up to an offset, or from nothing; delete damaged ones that are newer. A
        state that already ends at the offset is kept."""
        snapshots = self.snapshots
        snapshots.delete_outside(log_start_offset, last_offset)
        if last_offset == self.map_end_offset:
            self.advance_log_start(log_start_offset, snapshots.latest_offset)
            return
        for offset in reversed(snapshots.offsets):
            try:
                self.load(snapshots.read(offset), offset, self._clock.time_ms())
                return
            except CorruptionError:
                snapshots.delete(offset)
        self.start_at(log_start_offset)
        self.last_snapshot_offset = log_start_offset

    def _replay_segment(self, segment: Segment, start_offset: int, end_offset: int) -> None:
        """Replay the segment's batches, from the one that holds the start to the last one before the end."""
        start = segment.find_batch(start_offset)
        if start is None:
            return
        end = segment.find_batch(end_offset)
        for chunk in segment.files.log.chunks(start.position, None if end is None else end.position):
            if len(chunk.table):
                replay = self.replay(chunk.data, chunk.table)
                if replay.damage is not None:
                    raise replay.damage.at(path=str(segment.files.log.path))
