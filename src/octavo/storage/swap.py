"""Putting rewritten segments into the place of the old ones, so that a crash at any point loses nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from octavo.filesystem import FileSystem
from octavo.format.names import Transient
from octavo.storage.delete import Deleter
from octavo.storage.segment import Segment
from octavo.storage.segments import Segments


class Swap:
    """Replaces segments of one log by others that were written as `.cleaned`, closed out and synced.

    1. Rename the new ones to `.swap`, the largest base offset first, and take them into the map.
       A crash leaves `.cleaned` files, and `.swap` files behind the smallest of them: loading deletes both kinds, the
       old segments count. After the last rename the swap is decided: loading would finish it.
    2. Take the old ones out of the map, rename them to `.deleted`, delete them after the delay.
       A crash leaves old files beside `.swap` files that cover them: loading deletes the old ones.
    3. Rename the new ones to their final names, the smallest first. Loading renames what a crash leaves as `.swap`.
    4. Sync the folder.
    """

    def __init__(self, filesystem: FileSystem, folder: Path, segments: Segments, deleter: Deleter) -> None:
        self._filesystem = filesystem
        self._folder = folder
        self._segments = segments
        self._deleter = deleter

    def replace(self, old: Sequence[Segment], new: Sequence[Segment], delay_ms: int) -> list[Segment]:
        """Run the steps; returns the old segments whose base offset no new one has."""
        ascending = sorted(new, key=lambda segment: segment.base_offset)
        for segment in reversed(ascending):
            segment.files.rename(Transient.SWAP)
        self._segments.replace(old, ascending)
        self._deleter.delete_segments(sorted(old, key=lambda segment: segment.base_offset), delay_ms)
        for segment in ascending:
            segment.files.rename(Transient.NONE)
        self._filesystem.fsync_folder(self._folder)
        taken = {segment.base_offset for segment in new}
        return [segment for segment in old if segment.base_offset not in taken]
