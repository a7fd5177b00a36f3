"""Lists what log directories hold, before a job opens them or changes their files in place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from octavo.format.names import CLEAN_SHUTDOWN, RECOVERY_POINT_CHECKPOINT
from octavo.scanner.log_dirs import Place
from octavo.scanner.places.directory import Directory, Wanted, read_directory
from octavo.scanner.places.files import PartitionFiles
from octavo.scanner.places.location import LOCAL, Location
from octavo.scanner.places.selection import TopicSelection
from octavo.scanner.places.wrong_place import check_log_dir
from octavo.storage.directory.log_root import Only, Selection, lock_directory
from octavo.storage.directory.log_roots import as_paths


@contextmanager
def directories(places: Sequence[Place], topics: Sequence[str], *, write: bool) -> Iterator[list[Directory]]:
    """The places with the partitions of the topics, or with all partitions; locked within the block if `write`.

    Raises for a topic that none of them has.
    """
    found = [_local_directory(place, topics) for place in places]
    _check(TopicSelection.of(topics or None), found, ", ".join(str(directory.place) for directory in found))
    if not write:
        yield found
        return
    with ExitStack() as locks:
        for root in dict.fromkeys(Path(directory.root.location.path).resolve() for directory in found):
            locks.callback(lock_directory(root).release)
        yield [_local_directory(place, topics) for place in places]  # listed again, now that nobody else can change it


def check_topics(logdirs: Sequence[str], topics: Sequence[str], partition: int | None = None) -> None:
    """Raise for a topic or partition that does not exist; the error names a similar topic, if there is one."""
    selection = TopicSelection.of(topics, partition)
    found = _listed(logdirs, selection.wants)
    if found:
        _check(selection, found, ", ".join(logdirs))


def check_log_dirs(paths: Sequence[Path]) -> None:
    """Raise for a folder that is not a log directory, before it is treated as one."""
    for directory in _listed([str(path) for path in paths], lambda _: False):
        check_log_dir(directory)


def known_topics(logdirs: Sequence[str]) -> set[str]:
    """The topics that have partitions there."""
    return {topic for directory in _listed(logdirs, lambda _: False) for topic in directory.topics}


def bytes_to_recover(logdirs: Sequence[str], only: Only | None, *, check_all: bool = False) -> int:
    """About how many bytes recovery reads: those of segments that reach beyond the recovery points, in directories that
    were not closed cleanly; with `check_all`, all bytes."""
    return sum(
        _unflushed_bytes(files, recovery_points.get(topic_partition, 0))
        for directory in _listed(logdirs, Selection(only).__contains__)
        if check_all or CLEAN_SHUTDOWN not in directory.files
        for recovery_points in [{} if check_all else directory.root.offsets(RECOVERY_POINT_CHECKPOINT)]
        for topic_partition, files in directory.partitions.items()
    )


def _local_directory(place: Place, topics: Sequence[str]) -> Directory:
    (path,) = as_paths(str(place))
    return read_directory(Location(LOCAL, str(path)), (lambda partition: partition.topic in topics) if topics else None)


def _check(selection: TopicSelection, found: Sequence[Directory], shown: str) -> None:
    for directory in found:
        check_log_dir(directory)
    selection.check({topic_partition for directory in found for topic_partition in directory.topic_partitions}, shown)


def _listed(logdirs: Sequence[str], wanted: Wanted) -> list[Directory]:
    """The directories that exist; opening the others will show what is wrong with them."""
    places = [Location(LOCAL, place.rstrip("/") or "/") for place in logdirs if Path(place).is_dir()]
    return [read_directory(place, wanted) for place in places]


def _unflushed_bytes(files: PartitionFiles, recovery_point: int) -> int:
    ends = [*(segment.base_offset for segment in files.segments[1:]), None]
    pairs = zip(files.segments, ends, strict=True)
    return sum(segment.log.size for segment, end in pairs if end is None or end > recovery_point)
