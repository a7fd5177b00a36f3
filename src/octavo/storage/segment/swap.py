"""Replaces old segments with rewritten ones, so that a crash at any point loses nothing."""

from __future__ import annotations

from collections.abc import Sequence

from octavo.format.names import Transient
from octavo.storage.segment.delete import Deleter
from octavo.storage.segment.segment import Segment
from octavo.storage.segment.segments import Segments


def swap(segments: Segments, old: Sequence[Segment], new: Sequence[Segment], deleter: Deleter, delay_ms: int) -> None:
    """Replace segments of a log with others that were written as `.cleaned`, closed and synced.

    1. Rename the new ones to `.swap`, the largest base offset first, and sync the folder before the smallest.
       A crash leaves `.cleaned` files, and `.swap` files after the smallest of them: loading deletes both kinds and
       keeps the old segments. The rename of the smallest decides the swap: from then on loading finishes it. Sync.
    2. Take the old ones out of `segments`, rename them to `.deleted`, delete them after the delay. Sync.
       A crash leaves old files next to `.swap` files that cover them: loading deletes the old ones.
    3. Rename the new ones to their final names, the smallest first, and sync after each: if a larger one got its name
       before a smaller one, loading would take it for an old one. Loading renames what a crash leaves as `.swap`.
    """
    filesystem, folder = old[0].files.filesystem, old[0].files.folder
    ascending = sorted(new, key=lambda segment: segment.base_offset)
    for segment in reversed(ascending):
        if segment is ascending[0]:
            filesystem.fsync_folder(folder)
        segment.files.rename(Transient.SWAP)
    filesystem.fsync_folder(folder)
    segments.replace(old, ascending)
    deleter.delete_segments(sorted(old, key=lambda segment: segment.base_offset), delay_ms)
    filesystem.fsync_folder(folder)
    for segment in ascending:
        segment.files.rename(Transient.NONE)
        filesystem.fsync_folder(folder)
