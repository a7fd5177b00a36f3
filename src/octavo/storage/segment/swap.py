"""Replaces old segments with rewritten ones, so that a crash at any point loses nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from octavo.format.names import Transient
from octavo.storage.segment.delete import Deleter
from octavo.storage.segment.segment import Segment
from octavo.storage.segment.segments import Segments
from octavo.system.filesystem import FileSystem


class Swap:
    """Replaces segments of one log with others that were written as `.cleaned`, closed and synced.

    1. Rename the new ones to `.swap`, the largest base offset first, and sync the folder before the smallest.
       A crash leaves `.cleaned` files, and `.swap` files after the smallest of them: loading deletes both kinds and
       keeps the old segments. The rename of the smallest decides the swap: from then on loading finishes it. Sync.
    2. Take the old ones out of `Segments`, rename them to `.deleted`, delete them after the delay. Sync.
       A crash leaves old files next to `.swap` files that cover them: loading deletes the old ones.
    3. Rename the new ones to their final names, the smallest first, and sync after each: if a larger one got its name
       before a smaller one, loading would take it for an old one. Loading renames what a crash leaves as `.swap`.
    """

    def __init__(self, filesystem: FileSystem, folder: Path, segments: Segments, deleter: Deleter) -> None:
        self._filesystem = filesystem
        self._folder = folder
        self._segments = segments
        self._deleter = deleter

    def replace(self, old: Sequence[Segment], new: Sequence[Segment], delay_ms: int) -> list[Segment]:
        """Run the steps; returns the old segments whose base offset is not reused by a new one."""
        ascending = sorted(new, key=lambda segment: segment.base_offset)
        for segment in reversed(ascending):
            if segment is ascending[0]:
                self._sync()
            segment.files.rename(Transient.SWAP)
        self._sync()
        self._segments.replace(old, ascending)
        self._deleter.delete_segments(sorted(old, key=lambda segment: segment.base_offset), delay_ms)
        self._sync()
        for segment in ascending:
            segment.files.rename(Transient.NONE)
            self._sync()
        taken = {segment.base_offset for segment in new}
        return [segment for segment in old if segment.base_offset not in taken]

    def _sync(self) -> None:
        self._filesystem.fsync_folder(self._folder)
