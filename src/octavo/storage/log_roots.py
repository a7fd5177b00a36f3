"""Opening the directories of a `LogDir`: all locked and checked before the first of them is changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from octavo.errors import LogDirError
from octavo.format.names import FolderState, TopicPartition
from octavo.storage.environment import Environment
from octavo.storage.identity import check_identity, make_identity
from octavo.storage.log_root import LogRoot
from octavo.storage.selection import Selection

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def as_paths(given: Paths) -> list[Path]:
    """The directories in the order given; one that is named twice is refused."""
    paths = [Path(given)] if isinstance(given, str | os.PathLike) else [Path(path) for path in given]
    if not paths:
        raise LogDirError("no log directory is given, expected at least one")
    if len({path.resolve() for path in paths}) < len(paths):
        raise LogDirError(f"a log directory is named twice: {', '.join(map(str, paths))}")
    return paths


def open_roots(paths: Sequence[Path], environment: Environment, selection: Selection, *, create: bool) -> list[LogRoot]:
    """Lock the directories; of another broker's, of none's, or of one that a broker holds nothing changes.

    1. Create what is missing. 2. Take all locks. 3. Compare identities, list folders. 4. Write missing identities.
    """
    files, roots = environment.filesystem, list[LogRoot]()
    for path in paths:
        if not path.exists() and create:
            files.mkdir(path)
            files.fsync_folder(path.parent)
        elif not path.is_dir():
            raise LogDirError(f"{path}: there is {'a file' if path.exists() else 'nothing'}, expected a log directory")
    try:
        for path in paths:
            roots.append(LogRoot(path, files, selection))
        identities = check_identity(roots)
        check_partitions(roots)
        make_identity(roots, identities, environment.clock.time_ms())
    except BaseException:
        for root in roots:
            root.unlock()
        raise
    return roots


def check_partitions(roots: Sequence[LogRoot]) -> None:
    """Refuse directories of which two hold the same partition."""
    homes: dict[TopicPartition, Path] = {}
    for root in roots:
        for name, folder in root.folders().items():
            if folder.state is not FolderState.CURRENT:
                continue
            path = root.path / name
            other = homes.setdefault(folder.topic_partition, path)
            if other != path:
                raise LogDirError(f"{path}: the partition is found again in {other}, expected it once")
