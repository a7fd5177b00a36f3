"""Tells a log directory from any other folder, and finds those that are probably meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from octavo.errors import NoLogDirError, first_of
from octavo.format.names import (
    BOOTSTRAP_CHECKPOINT,
    CLEAN_SHUTDOWN,
    LEADER_EPOCH_CHECKPOINT,
    LOCK,
    META_PROPERTIES,
    OFFSET_CHECKPOINTS,
    OWN_STORES,
    PARTITION_METADATA,
    KRaftSnapshot,
    SegmentFile,
)
from octavo.scanner.places.directory import Directory, partition_folder
from octavo.scanner.places.location import Entry, Location

_ROOT_FILES = {META_PROPERTIES, CLEAN_SHUTDOWN, LOCK, BOOTSTRAP_CHECKPOINT, *OWN_STORES, *OFFSET_CHECKPOINTS}
_PARTITION_FILES = {PARTITION_METADATA, LEADER_EPOCH_CHECKPOINT}
_MOST_LISTINGS = 100  # of folders below a wrong place: a home directory has thousands
_MOST_NAMES = 12  # in a message


def check_log_dir(directory: Directory) -> None:
    """Raise for a folder that is not a log directory. A name alone does not make one: /etc has a folder `dbus-1`."""
    if directory.single or directory.not_current or directory.unreadable or _has_root_file(directory.files):
        return
    if any(files.segments or _has_partition_file(files.others) for files in directory.partitions.values()):
        return
    others = directory.topic_partitions.difference(directory.partitions)
    if any(_has_partition_file(_names(directory.place.child(str(name)))) for name in others):
        return
    below = list(_log_dirs_below(directory.place))
    if below:
        found = f"log director{'y' if len(below) == 1 else 'ies'} below it: {first_of(below, _MOST_NAMES)}"
    else:
        found = "a log directory has folders such as orders-0, for partition 0 of topic orders"
    raise NoLogDirError(f"{directory.place}: no partitions here; {found}")


def _log_dirs_below(place: Location) -> Iterator[str]:
    """The log directories in a folder and in its folders, as paths from there."""
    level, listings = [("", place)], 0
    for _ in range(2):
        below: list[tuple[str, Location]] = []
        for path, parent in level:
            for name in sorted(entry.name for entry in _entries(parent) if entry.is_folder):
                listings += 1
                if listings > _MOST_LISTINGS:
                    return
                folder = parent.child(name)
                if _is_log_dir(folder):
                    yield f"{path}{name}"
                else:
                    below.append((f"{path}{name}/", folder))
        level = below


def _is_log_dir(folder: Location) -> bool:
    entries = _entries(folder)
    if _has_root_file(entry.name for entry in entries if not entry.is_folder):
        return True
    partitions = [entry.name for entry in entries if entry.is_folder and partition_folder(entry.name) is not None]
    return any(_has_partition_file(_names(folder.child(name))) for name in partitions[:3])


def _has_root_file(names: Iterable[str]) -> bool:
    return not _ROOT_FILES.isdisjoint(names)


def _has_partition_file(names: Iterable[str]) -> bool:
    return any(name in _PARTITION_FILES or SegmentFile.parse(name) or KRaftSnapshot.parse(name) for name in names)


def _names(folder: Location) -> list[str]:
    return [entry.name for entry in _entries(folder)]


def _entries(folder: Location) -> list[Entry]:
    try:
        return folder.list()
    except OSError:
        return []
