"""A partition's leader epochs and the offset at which each began, kept in leader-epoch-checkpoint."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.format.batches.batch_summary import BatchSummary, summarize
from octavo.format.names import LEADER_EPOCH_CHECKPOINT
from octavo.format.small_files import leader_epochs
from octavo.format.small_files.leader_epochs import EpochEntry
from octavo.storage.files.small_file import read_file, replace_file
from octavo.system.filesystem import FileSystem

_UNDEFINED = -1  # a client that does not know its epoch


class EpochEnd(NamedTuple):
    """The answer to OffsetForLeaderEpoch: the requested epoch, or the largest known one below it, and its end."""

    epoch: int
    end_offset: int


class LeaderEpochs:
    """Entries with ascending epochs and start offsets. Thread-safe; a change is on disk when its method returns.

    `leader_epoch` is the largest epoch since the log was loaded, even if its entry was cut; 0 if there was none.
    """

    def __init__(self, filesystem: FileSystem, folder: Path) -> None:
        self.path = folder / LEADER_EPOCH_CHECKPOINT
        self._filesystem = filesystem
        self._lock = threading.Lock()
        self.entries: tuple[EpochEntry, ...] = tuple(read_file(filesystem, self.path, leader_epochs.decode) or ())
        self.leader_epoch = self.latest_epoch or 0

    @property
    def latest_epoch(self) -> int | None:
        entries = self.entries
        return entries[-1].epoch if entries else None

    def assign(self, epoch: int, start_offset: int) -> None:
        """Record the start of an epoch, and drop the entries that contradict it."""
        if self.entries and self.entries[-1].epoch == epoch and self.entries[-1].start_offset <= start_offset:
            return
        with self._lock:
            self._write(_assigned(self.entries, epoch, start_offset))

    def is_continued(self, batches: BatchSummary) -> bool:
        """Whether all batches belong to the latest epoch, as they nearly always do; then there is nothing to record."""
        epoch, entries = batches.max_epoch, self.entries
        is_latest = bool(entries) and entries[-1].epoch == epoch == batches.min_epoch
        return is_latest and batches.min_magic >= 2

    def assign_batches(self, table: NDArray[np.void], *, only_greater: bool = False) -> None:
        """Record the epochs of appended batches. A batch in an old format has no epoch and clears all entries before
        it.

        With `only_greater`, as in recovery, batches that do not raise the epoch are ignored.
        """
        with self._lock:
            if self.is_continued(summarize(table)):
                return
            entries = self.entries
            for magic, epoch, base_offset in _changes(table):
                if magic < 2:
                    entries = entries if only_greater else ()
                elif epoch >= 0 and not (only_greater and entries and epoch <= entries[-1].epoch):
                    entries = _assigned(entries, epoch, base_offset)
            self._write(entries)

    def truncate_from_end(self, end_offset: int) -> None:
        """Drop the epochs that began at or after the offset."""
        with self._lock:
            self._write(tuple(entry for entry in self.entries if entry.start_offset < end_offset))

    def truncate_from_start(self, start_offset: int) -> None:
        """Drop the epochs before the one that contains the offset, which now begins there."""
        with self._lock:
            before = [entry for entry in self.entries if entry.start_offset <= start_offset]
            if before:
                first = EpochEntry(before[-1].epoch, start_offset)
                self._write((first, *self.entries[len(before) :]))

    def clear(self) -> None:
        with self._lock:
            self._write(())

    def epoch_for_offset(self, offset: int) -> int | None:
        """The epoch in which the offset was written; None if it lies before the first entry."""
        return leader_epochs.epoch_for_offset(self.entries, offset)

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEnd | None:
        """Where an epoch ended; None if unknown."""
        entries = self.entries
        if not entries or epoch == _UNDEFINED or epoch > entries[-1].epoch:
            return None
        if epoch == entries[-1].epoch:
            return EpochEnd(epoch, log_end_offset)
        following = next(entry for entry in entries if entry.epoch > epoch)
        floor = [entry.epoch for entry in entries if entry.epoch <= epoch]
        return EpochEnd(floor[-1] if floor else epoch, following.start_offset)

    def _write(self, entries: tuple[EpochEntry, ...]) -> None:
        if entries != self.entries:
            replace_file(self._filesystem, self.path, leader_epochs.encode(entries))
            self.entries = entries
            self.leader_epoch = max(self.leader_epoch, self.latest_epoch or 0)


def _assigned(entries: tuple[EpochEntry, ...], epoch: int, start_offset: int) -> tuple[EpochEntry, ...]:
    if entries and entries[-1].epoch == epoch and entries[-1].start_offset <= start_offset:
        return entries
    kept = len(entries)
    while kept and (entries[kept - 1].epoch >= epoch or entries[kept - 1].start_offset >= start_offset):
        kept -= 1
    return (*entries[:kept], EpochEntry(epoch, start_offset))


def _changes(table: NDArray[np.void]) -> Iterable[tuple[int, int, int]]:
    """Magic, epoch and base offset of each batch whose magic or epoch differs from the previous batch's."""
    if not len(table):
        return []
    magic, epoch = table["magic"], table["partition_leader_epoch"]
    first = np.flatnonzero((magic[1:] != magic[:-1]) | (epoch[1:] != epoch[:-1])) + 1
    rows = table[["magic", "partition_leader_epoch", "base_offset"]][np.concatenate(([0], first))]
    changes: list[tuple[int, int, int]] = rows.tolist()
    return changes
