"""Removes staged files that nobody will commit: those of attempts that crashed, failed or came second."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from octavo.errors import CorruptionError
from octavo.format.names import FolderState, PartitionFolder, StagedFile
from octavo.storage.staging.stage import writer_key
from octavo.system.filesystem import FileSystem

# No task stages files for longer than this, so older files are dead, whoever wrote them.
STAGED_FILE_MAX_AGE_MS = 24 * 60 * 60 * 1000
# How often all folders are swept, not only those that a commit touches.
SWEEP_INTERVAL_MS = 60 * 60 * 1000


def sweep_writer(
    filesystem: FileSystem, folders: Iterable[Path], writer: str, *, keep: Collection[str] = ()
) -> list[Path]:
    """Remove a writer's staged files in these folders, except those to keep; returns the removed files.

    Called right after a commit, or when a batch is aborted: any leftover files belong to attempts whose work was not
    used. An attempt that is still running keeps writing to files without a name, or creates its files again, which are
    then left to a later sweep.
    """
    key = writer_key(writer)
    found = [path for path, file in _staged(filesystem, folders) if file.writer == key and path.name not in keep]
    return [path for path in found if filesystem.unlink(path)]


def sweep_dead(filesystem: FileSystem, roots: Sequence[Path], now_ms: int, *, keep: Collection[str] = ()) -> list[Path]:
    """Remove staged files of any writer that are too old to belong to a live task; returns the removed files.

    `keep` has the files of a commit that was decided but could not be completed yet, for example because a disk is
    missing.
    """
    before = now_ms - STAGED_FILE_MAX_AGE_MS
    staged = [path for path, _ in _staged(filesystem, all_folders(filesystem, roots)) if path.name not in keep]
    return [path for path in staged if _is_before(filesystem, path, before) and filesystem.unlink(path)]


def all_folders(filesystem: FileSystem, roots: Sequence[Path]) -> list[Path]:
    """Every folder that may hold staged files: the roots, and their partition folders except those being deleted."""
    return [*roots, *(root / name for root in roots for name in filesystem.folders(root) if _is_partition(name))]


def _staged(filesystem: FileSystem, folders: Iterable[Path]) -> list[tuple[Path, StagedFile]]:
    found = []
    for folder in folders:
        # A partition may be deleted at any moment; whoever opens one that cannot be read reports that.
        with suppress(FileNotFoundError, PermissionError):
            for name in filesystem.names(folder):
                file = StagedFile.parse(name)
                if file is not None:
                    found.append((folder / name, file))
    return found


def _is_before(filesystem: FileSystem, path: Path, time_ms: int) -> bool:
    """Whether a file was last written before a time; False if it is removed in the meantime."""
    try:
        return filesystem.mtime_ms(path) < time_ms
    except FileNotFoundError:
        return False


def _is_partition(name: str) -> bool:
    try:
        return PartitionFolder.parse(name).state is not FolderState.DELETE
    except CorruptionError:
        return False
