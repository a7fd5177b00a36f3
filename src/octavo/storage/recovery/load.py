"""Loads a partition's log: turns what a stop or a crash left in its folder into segments, epochs and producers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from octavo.config import LogConfig
from octavo.errors import CorruptionError
from octavo.format.indexes import txn_index
from octavo.format.names import (
    LEADER_EPOCH_CHECKPOINT,
    PARTITION_METADATA,
    FileKind,
    FolderState,
    PartitionFolder,
    SegmentFile,
    Transient,
)
from octavo.format.small_files import partition_metadata
from octavo.kernels.integers import INT64_MAX
from octavo.storage.environment import Environment
from octavo.storage.files.small_file import read_file
from octavo.storage.log.epochs import LeaderEpochs
from octavo.storage.log.log import LogParts
from octavo.storage.producers.files import Producers
from octavo.storage.producers.snapshots import SnapshotFiles
from octavo.storage.producers.state import PRODUCER_ID_EXPIRATION_MS
from octavo.storage.recovery.check_ahead import Checkers, check_ahead
from octavo.storage.recovery.recover import Checked, OnLoss, Recovered, no_loss, no_progress, recover_segment
from octavo.storage.recovery.transient_files import settle_transient_files
from octavo.storage.segment.delete import Deleter
from octavo.storage.segment.segment import Segment, SegmentOffsetOverflowError, Tail
from octavo.storage.segment.segments import Segments
from octavo.storage.segment.split import split
from octavo.storage.segment.swap import swap
from octavo.system.regular_file import not_regular
from octavo.system.runner import Progress

_Result = TypeVar("_Result")

_LARGE_TXN_INDEX_BYTES = 64 << 20
_INDEXES = FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRequest:
    """A folder, and its offsets in the directory's checkpoints (0 if they are missing there)."""

    folder: Path
    config: LogConfig
    environment: Environment
    clean: bool  # the directory was closed cleanly: no batch needs to be checked
    log_start_offset: int = 0
    recovery_point: int = 0
    flushed_up_to: int = 0  # the recovery point in the checkpoint, even if everything is to be checked
    producer_expiration_ms: int = PRODUCER_ID_EXPIRATION_MS
    progress: Progress = no_progress  # called with the number of bytes that recovery has read since the last call
    on_loss: OnLoss = no_loss  # may look at what recovery is about to cut
    checkers: Checkers | None = None  # the threads that check segments ahead, if there are several
    upkeep: bool = False  # remove `.deleted` files, including those of segments that recovery drops


class DroppedSegment(NamedTuple):
    """A whole segment that recovery removed from the log."""

    base_offset: int
    size: int
    reason: str


class Loaded(NamedTuple):
    """A log's parts, ready for use, and what was done to get there."""

    parts: LogParts
    deleted_files: list[str]
    recovered: list[Recovered]
    dropped: list[DroppedSegment]
    topic_id: bytes | None  # brokers before 2.8 did not store it


def load(request: LoadRequest) -> Loaded:
    """Load the log in a folder, which is created if missing."""
    return _Loader(request).load()


class _Loader:
    """Kafka's LogLoader. Each step can be run again, so a crash while loading does no harm."""

    def __init__(self, request: LoadRequest) -> None:
        self._request = request
        self._environment = request.environment
        self._files = request.environment.filesystem
        self._files.mkdir(request.folder)
        self._deleter = Deleter(self._files, self._environment.scheduler)
        self._is_being_deleted = PartitionFolder.parse(request.folder.name).state is FolderState.DELETE
        self._deleted: list[str] = []
        self._recovered: list[Recovered] = []
        self._dropped: list[DroppedSegment] = []
        self._recovery_point = INT64_MAX  # the log's end, unless the request says otherwise
        self._is_changed = False

    def load(self) -> Loaded:
        """1. Finish or delete files of unfinished work. 2. Open the segments, rebuilding those without an offset index
        or with an unsound transaction index. 3. Recover the segments from the recovery point on after an unclean stop,
        or the last one if it has a torn tail; everything after a damaged one is dropped. 4. Bring epochs and producers
        to the log's end.
        """
        request = self._request
        self._refuse_special_files()
        # Before anything changes, since it raises an error if it is damaged.
        metadata = read_file(self._files, request.folder / PARTITION_METADATA, partition_metadata.decode)
        folder, upkeep = request.folder, request.upkeep
        self._deleted = settle_transient_files(self._files, folder, self._swap_end, remove_deleted=upkeep)
        self._epochs = LeaderEpochs(self._files, folder)
        self._segments = Segments()
        self._snapshots = SnapshotFiles(self._files, folder)
        found_snapshots = self._snapshots.offsets
        if not request.clean:
            self._snapshots.delete_torn(request.recovery_point)
        self._retry_on_overflow(self._open_segments)
        end_offset = self._retry_on_overflow(self._recover)
        self._epochs.truncate_from_end(end_offset)
        self._epochs.truncate_from_start(request.log_start_offset)
        log_start_offset = max(request.log_start_offset, self._segments.first.base_offset)
        producers = self._producers()
        self._snapshots.delete_stray(self._segments.base_offsets)
        producers.rebuild(self._segments, log_start_offset, end_offset, clean=request.clean)
        # The snapshots of dropped segments are only renamed, like the segments.
        kept = {*self._snapshots.offsets, *(dropped.base_offset for dropped in self._dropped)}
        gone = [offset for offset in found_snapshots if offset not in kept]
        self._deleted += [SegmentFile(offset, FileKind.PRODUCER_SNAPSHOT).name for offset in gone]
        for segment in self._segments:
            segment.files.release()
        recovery_point = max(min(self._recovery_point, end_offset), log_start_offset)
        is_changed = self._is_changed or bool(self._deleted or self._recovered)
        bounds = log_start_offset, end_offset, recovery_point
        parts = LogParts(self._segments, self._epochs, producers, *bounds, is_changed)
        topic_id = None if metadata is None else metadata.topic_id
        return Loaded(parts, self._deleted, self._recovered, self._dropped, topic_id)

    def _refuse_special_files(self) -> None:
        """Raise before anything changes if a link, for example, has the name of one of the log's files."""
        folder = self._request.folder
        for name in self._files.others(folder):
            if SegmentFile.parse(name) or name in (LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA):
                raise not_regular(folder / name)

    def _producers(self) -> Producers:
        clock, expiration_ms = self._environment.clock, self._request.producer_expiration_ms
        return Producers(self._snapshots, clock, expiration_ms=expiration_ms)

    def _segment(self, base_offset: int, *, transient: Transient = Transient.NONE, create: bool = False) -> Segment:
        request, files, clock = self._request, self._files, self._environment.clock
        return Segment(request.folder, base_offset, request.config, files, clock, transient=transient, create=create)

    def _swap_end(self, base_offset: int) -> int:
        return self._segment(base_offset, transient=Transient.SWAP).tail().next_offset

    def _open_segments(self) -> None:
        self._segments = Segments()
        names = set(self._files.names(self._request.folder))
        parsed = sorted(file for file in map(SegmentFile.parse, names) if file is not None and not file.transient)
        logs = [file.base_offset for file in parsed if file.kind is FileKind.LOG]
        for file in parsed:
            if file.kind in _INDEXES and file.base_offset not in logs:
                self._files.unlink(self._request.folder / file.name)
                self._deleted.append(file.name)
        recovery_point, unflushed_from = self._request.recovery_point, INT64_MAX
        if not self._request.clean and not self._is_being_deleted:
            unflushed_from = max((base_offset for base_offset in logs if base_offset <= recovery_point), default=0)
        for base_offset in logs:
            segment = self._segment(base_offset)
            if SegmentFile(base_offset, FileKind.TIME_INDEX).name not in names:
                segment.files.time_index.reset()
            has_index = SegmentFile(base_offset, FileKind.OFFSET_INDEX).name in names
            # Segments that will be recovered anyway must wait their turn: torn batches may precede them, and a replay
            # of the producers cannot get past those.
            if base_offset < unflushed_from and not (has_index and _has_sound_txn_index(segment)):
                self._rebuild_flushed(segment)
            self._segments.add(segment)

    def _rebuild_flushed(self, segment: Segment) -> None:
        """Recover a segment from before the recovery point. The offset index gets its name last, once everything else
        is on the disk: if a crash interrupts this, the next load finds no offset index, and repeats it."""
        index = segment.files.offset_index
        index.unlink()
        self._files.fsync_folder(self._request.folder)
        path, index.path = index.path, segment.files.path(FileKind.OFFSET_INDEX, Transient.CLEANED)
        try:
            self._recover_segment(segment)
        except BaseException:
            index.unlink()
            raise
        segment.files.flush()
        self._files.fsync_folder(self._request.folder)
        index.rename(path)

    def _recover_segment(
        self, segment: Segment, checked: Checked | None = None, progress: Progress = no_progress
    ) -> Recovered:
        """Rebuild a segment, with producers as of its base offset; a snapshot at its end serves the next segment."""
        producers = self._producers()
        start = self._request.log_start_offset
        producers.rebuild(self._segments, start, segment.base_offset, clean=False)
        on_loss = self._request.on_loss
        recovered = recover_segment(segment, producers, self._epochs, checked, progress=progress, on_loss=on_loss)
        producers.write_snapshot()
        self._recovered.append(recovered)
        return recovered

    def _recover(self) -> int:
        """Recover the segments that need it, and make sure that there is an active one; returns the log's end."""
        request = self._request
        if self._is_being_deleted:  # nothing in the folder is needed any more
            if not len(self._segments):
                self._segments.add(self._segment(0, create=True))
            return 0
        if not request.clean:  # this comes first, since no index can be trusted yet
            self._recover_unflushed(self._segments.overlapping(request.recovery_point))
        tail = self._tail()
        if request.clean and tail is not None and tail.end_position < self._segments.active.size:
            # Kafka trusts a clean stop, and would append after a torn batch, which no reader can get past.
            self._recover_unflushed([self._segments.active])
            tail = self._tail()
        if tail is not None and tail.next_offset < request.log_start_offset:
            # Someone has removed segment files: what is left lies before the log's start.
            self._drop(list(self._segments), f"the log starts after it, at offset {request.log_start_offset}")
            self._epochs.clear()
            self._producers().start_over_at(request.log_start_offset)
            tail = None
        if tail is None:
            self._segments.add(self._segment(request.log_start_offset, create=True))
        if not request.clean or tail is None:
            self._recovery_point, self._is_changed = request.recovery_point, True
        return request.log_start_offset if tail is None else tail.next_offset

    def _tail(self) -> Tail | None:
        """The log's end; None if there are no segments."""
        return self._segments.active.tail() if len(self._segments) else None

    def _recover_unflushed(self, unflushed: Sequence[Segment]) -> None:
        progress = self._request.progress
        with closing(check_ahead(unflushed, self._request.checkers, progress)) as checks:
            for number, (segment, checked) in enumerate(zip(unflushed, checks, strict=True), 1):
                recovered = self._recover_segment(segment, checked, progress)
                if recovered.rising_size < recovered.size and segment is unflushed[-1]:
                    recovered = self._cut_falling_offsets(segment, recovered)
                if recovered.bytes_cut:
                    self._drop(unflushed[number:], f"it comes after the damage in segment {segment.base_offset}")
                    return

    def _cut_falling_offsets(self, segment: Segment, recovered: Recovered) -> Recovered:
        """Cut batches at the log's end whose offsets are lower than those before them: they would give a wrong log end.

        No CRC covers the offset, so it may be torn in a batch that is otherwise sound. In the middle of a log such
        batches stay (`docs/decisions/0010-crashes.md`), because the batches after them are worth more.
        """
        self._request.on_loss(segment.files.log.path, recovered.rising_size, recovered.size)
        cut = segment.files.log.truncate_to(recovered.rising_size)
        again = self._recover_segment(segment)
        reason = "the offsets of its last batches go back"
        self._recovered[-2:] = [again._replace(bytes_cut=recovered.bytes_cut + cut, problem=reason)]
        return self._recovered[-1]

    def _drop(self, segments: Sequence[Segment], reason: str) -> None:
        for segment in segments:
            self._request.on_loss(segment.files.log.path, 0, segment.size)
            self._dropped.append(DroppedSegment(segment.base_offset, segment.size, reason))
        delay_ms = self._request.config.file_delete_delay_ms if self._request.upkeep else None
        self._segments.remove(segments)
        self._deleter.delete_segments(segments, delay_ms)
        renamed = self._snapshots.mark_deleted(segment.base_offset for segment in segments)
        self._deleter.delete_paths(renamed, delay_ms)

    def _retry_on_overflow(self, step: Callable[[], _Result]) -> _Result:
        while True:
            try:
                return step()
            except SegmentOffsetOverflowError as error:
                self._split(error.base_offset)

    def _split(self, base_offset: int) -> None:
        request, segment = self._request, self._segments.floor(base_offset)
        if segment is None or segment.base_offset != base_offset:
            segment = self._segment(base_offset)
        new = split(segment, request.folder, request.config, self._environment)
        swap(self._segments, [segment], new, self._deleter, request.config.file_delete_delay_ms)


def _has_sound_txn_index(segment: Segment) -> bool:
    """Whether the transaction index has a plausible size, and no transaction in it ends before the segment's start.

    An entry of a newer version raises CorruptionError.
    """
    if segment.files.txn_index.size > max(segment.size, _LARGE_TXN_INDEX_BYTES):
        return False  # a marker takes more space in the log than its entry takes here
    aborted = segment.files.txn_index.aborted()
    try:
        txn_index.sanity_check(aborted, segment.base_offset)
    except CorruptionError:
        return False
    return True
