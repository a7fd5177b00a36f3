"""The first steps of loading a log: finishes or undoes interrupted swaps and deletions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from octavo.errors import CorruptionError
from octavo.format.names import FileKind, KRaftSnapshot, SegmentFile, Transient, base_offset_of
from octavo.system.filesystem import FileSystem

# Returns the next offset of the segment in a `.log.swap` file, given its base offset.
NextOffset = Callable[[int], int]


def settle_transient_files(
    filesystem: FileSystem, folder: Path, next_offset: NextOffset, *, remove_deleted: bool
) -> list[str]:
    """Delete unfinished files and finish swaps; returns the names of the deleted files.

    1. Delete `.deleted` files, but only on request, since somebody may still want their content. 2. Delete `.swap`
    files whose offset is not below the smallest `.cleaned` one: their swap was not decided yet. 3. Delete all
    `.cleaned` files. 4. Delete the segments that the remaining `.swap` files replace. 5. Rename those `.swap` files
    into place. After a crash in between, the next run does the rest.
    """
    gone: list[str] = []

    def delete(name: str) -> None:
        filesystem.unlink(folder / name)
        gone.append(name)

    names = filesystem.names(folder)
    for name in names:
        # KRaft snapshots have this suffix too, but belong to the metadata log.
        if remove_deleted and name.endswith(Transient.DELETED) and KRaftSnapshot.parse(name) is None:
            delete(name)
    cleaned = [name for name in names if name.endswith(Transient.CLEANED)]
    undecided_from = min(map(base_offset_of, cleaned), default=None)
    swapped = []
    for name in names:
        if name.endswith(Transient.SWAP):
            if undecided_from is not None and base_offset_of(name) >= undecided_from:
                delete(name)
            else:
                swapped.append(name)
    for name in cleaned:
        delete(name)
    deleted = set(gone)
    for name in _replaced([name for name in names if name not in deleted], swapped, next_offset):
        delete(name)
    for name in swapped:
        filesystem.rename(folder / name, folder / name.removesuffix(Transient.SWAP))
    return gone


def _replaced(names: list[str], swapped: list[str], next_offset: NextOffset) -> list[str]:
    """The files of any kind whose offset lies in the range that the swapped log files cover."""
    files = map(SegmentFile.parse, swapped)
    bases = [file.base_offset for file in files if file is not None and file.kind is FileKind.LOG]
    if not bases:
        return []
    low, high = min(bases), max(next_offset(base) for base in bases)
    return [name for name in names if not name.endswith(Transient.SWAP) and low <= _offset_in(name) < high]


def _offset_in(name: str) -> int:
    try:
        return base_offset_of(name)
    except CorruptionError:
        return -1
