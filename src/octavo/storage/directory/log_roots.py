"""Opens the directories of a `LogManager`: all are locked and checked before any of them changes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from octavo.errors import KafkaStorageError, LogDirError
from octavo.format.names import FolderState, TopicPartition
from octavo.format.small_files.meta_properties import MetaProperties
from octavo.storage.directory.identity import check_identity, make_identity
from octavo.storage.directory.log_root import ONLY_READ, LogRoot, Selection
from octavo.storage.environment import Environment
from octavo.storage.files.shared_file import SharedContent, SharedFile
from octavo.storage.files.small_file import replace_file
from octavo.system.urls import UrlPath, local_path, shown_url

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def as_paths(given: Paths) -> list[Path]:
    """The directories in the given order; raises LogDirError if there is none, or one is named twice or at a URL."""
    paths = [_local(place) for place in ([given] if isinstance(given, str | os.PathLike) else given)]
    if not paths:
        raise LogDirError("no log directory is given: name at least one")
    if len(paths) > 1 and len({path.resolve() for path in paths}) < len(paths):
        raise LogDirError(f"a log directory is named twice: {', '.join(map(str, paths))}")
    return paths


def _local(place: str | os.PathLike[str]) -> Path:
    if isinstance(place, UrlPath):  # the caller's file system can read it
        return place
    path = local_path(os.fspath(place))
    if path is None:
        problem = f"cannot change files at a URL; copy them to a local directory (octavo copy URL DIR), {ONLY_READ}"
        raise LogDirError(f"{shown_url(os.fspath(place))}: {problem}")
    return Path(path)


def open_roots(
    paths: Sequence[Path],
    environment: Environment,
    selection: Selection,
    *,
    create: bool | None,
    node_id: int | None,
) -> list[LogRoot]:
    """Lock and check the directories; nothing changes if they belong to different brokers or another process holds one.

    1. Lock those that exist. 2. If `create` is True, create missing ones; if None, leave that to `make_missing`; if
    False, refuse. 3. Compare identities, list folders. 4. Write missing identities if `create`. If 4 is not reached,
    what 2 created is removed. A directory whose disk fails in the process goes offline; if all fail, an error is
    raised. New directories get the `node_id`; those of another node are refused.
    """
    roots = [LogRoot(path, environment.filesystem, selection, node_id) for path in paths]
    try:
        for root in roots:
            with root.unless_offline():
                if create is not False and not root.exists():
                    root.is_missing = True
                else:
                    root.lock()
        if create:
            _make(roots)
        identities = _check(roots)
        if create:
            make_identity(identities, environment.clock.time_ms())
        if not any(root.failure is None for root in roots):
            raise KafkaStorageError(f"{roots[0].path} is offline: {roots[0].failure}")
    except BaseException:
        for root in roots:
            root.discard()
        raise
    return roots


def make_missing(roots: Sequence[LogRoot], environment: Environment) -> None:
    """Create the directories and identities that are still missing."""
    if all(root.has_identity for root in roots if root.failure is None):
        return
    missing = [root for root in roots if root.is_missing]
    try:
        _make(missing)
        make_identity(_check(roots), environment.clock.time_ms())
    except BaseException:
        for root in missing:
            root.discard()
            root.is_missing = True
        raise


def _make(roots: Sequence[LogRoot]) -> None:
    for root in roots:
        if root.is_missing:
            with root.unless_offline():
                root.make()


def _check(roots: Sequence[LogRoot]) -> dict[LogRoot, MetaProperties | None]:
    """Refuse directories that do not belong together, and list their folders; returns each one's meta.properties."""
    identities = check_identity(live(roots))
    homes: dict[TopicPartition, Path] = {}
    for root in live(roots):
        with root.unless_offline():
            root.list_folders()
        for folder in root.folders:
            path = root.path / folder.name
            if folder.state is FolderState.CURRENT and homes.setdefault(folder.topic_partition, path) != path:
                other = homes[folder.topic_partition]
                raise LogDirError(f"{path}: the partition exists twice, also in {other}; move one of them away")
    return identities


def live(roots: Sequence[LogRoot]) -> list[LogRoot]:
    """The directories that exist and are not offline."""
    return [root for root in roots if root.is_live]


def replace_everywhere(
    roots: Sequence[LogRoot], file: SharedFile[SharedContent], revision: int, content: SharedContent
) -> None:
    """Give a shared file new content in every directory in use; KafkaStorageError if none is in use."""
    if replace_in_live(roots, file.name, file.encode(revision, content), is_secret=file.is_secret):
        return
    if missing := [root.path for root in roots if root.is_missing]:
        problem = f"{file.name} cannot be changed: the directory does not exist yet"
        raise KafkaStorageError(f"{missing[0]}: {problem}; create a topic first, or open it with create=True")
    raise KafkaStorageError(f"all log directories are offline: {file.name} cannot be changed")


def replace_in_live(roots: Sequence[LogRoot], name: str, data: bytes, *, is_secret: bool = False) -> bool:
    """Replace a file in every directory in use; returns whether at least one has the new content."""
    written = False
    for root in roots:
        if root.is_live:
            with root.unless_offline():
                replace_file(root.files, root.path / name, data, is_secret=is_secret)
                written = True
    return written
