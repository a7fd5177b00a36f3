"""The `.snapshot` files of a partition: the state of its producers as of certain offsets."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from octavo.errors import CorruptionError
from octavo.format.names import FileKind, SegmentFile, Transient
from octavo.format.small_files import producer_snapshot
from octavo.system.filesystem import FileSystem


class SnapshotFiles:
    """The snapshots by offset; `state` handles their content. Used under the log's lock."""

    def __init__(self, filesystem: FileSystem, folder: Path) -> None:
        self._filesystem = filesystem
        self.folder = folder
        self._unsynced: set[int] = set()
        files = map(SegmentFile.parse, filesystem.names(folder))
        self._offsets = sorted(
            file.base_offset
            for file in files
            if file is not None and file.kind is FileKind.PRODUCER_SNAPSHOT and file.transient is Transient.NONE
        )

    @property
    def offsets(self) -> list[int]:
        """The offsets of the snapshots, ascending."""
        return list(self._offsets)

    @property
    def latest_offset(self) -> int | None:
        return self._offsets[-1] if self._offsets else None

    def read(self, offset: int) -> bytes:
        return self._filesystem.read_bytes(self.path(offset))

    def write(self, offset: int, data: bytes, *, sync: bool = True) -> None:
        """Write a snapshot. If a crash cuts it short, its CRC is wrong, and an older one is used."""
        self._filesystem.truncate(self.path(offset), 0)
        file = self._filesystem.open(self.path(offset))
        file.pwrite(data, 0)
        if sync:
            file.fsync()
        else:
            self._unsynced.add(offset)
        if offset not in self._offsets:
            self._offsets = sorted([*self._offsets, offset])

    def sync_up_to(self, offset: int) -> None:
        """Sync the unsynced snapshots up to an offset, before the recovery point passes them. Needs no lock."""
        for unsynced in [each for each in list(self._unsynced) if each <= offset]:
            with suppress(FileNotFoundError):  # deleted in the meantime
                self._filesystem.open(self.path(unsynced)).fsync()
            self._unsynced.discard(unsynced)

    def delete_torn(self, from_offset: int) -> None:
        """Delete damaged snapshots from an offset on, left unfinished by a crash."""
        for offset in [each for each in self._offsets if each >= from_offset]:
            try:
                producer_snapshot.decode_table(self.read(offset))
            except CorruptionError:
                self.delete(offset)

    def delete(self, offset: int) -> None:
        self._filesystem.unlink(self.path(offset))
        self._offsets = [kept for kept in self._offsets if kept != offset]

    def delete_outside(self, log_start_offset: int, end_offset: int) -> None:
        """Delete the snapshots after the end, and those up to the log's start."""
        for offset in self.offsets:
            if offset > end_offset or offset <= log_start_offset:
                self.delete(offset)

    def delete_stray(self, base_offsets: Collection[int]) -> None:
        """Delete the snapshots that belong to no segment, except the largest if it is not before the last segment.

        A clean stop wrote that one at the log's end.
        """
        stray = [offset for offset in self._offsets if offset not in base_offsets]
        kept = stray[-1:] if stray and stray[-1] >= max(base_offsets, default=0) else []
        for offset in stray:
            if offset not in kept:
                self.delete(offset)

    def mark_deleted(self, offsets: Iterable[int]) -> list[Path]:
        """Rename the snapshots at these offsets, if there are any, to `.deleted`; returns their new paths."""
        renamed = []
        for offset in offsets:
            if offset in self._offsets:
                target = self.folder / SegmentFile(offset, FileKind.PRODUCER_SNAPSHOT, Transient.DELETED).name
                self._filesystem.rename(self.path(offset), target)
                self._offsets.remove(offset)
                renamed.append(target)
        return renamed

    def path(self, offset: int) -> Path:
        return self.folder / SegmentFile(offset, FileKind.PRODUCER_SNAPSHOT).name
