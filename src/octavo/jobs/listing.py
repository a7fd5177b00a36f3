"""What log directories hold, looked at before a command locks and opens them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from octavo.format.names import CLEAN_SHUTDOWN
from octavo.scanner.places.directory import Directory, Wanted, read_directory
from octavo.scanner.places.files import PartitionFiles
from octavo.scanner.places.location import LOCAL, Location
from octavo.scanner.places.selection import TopicSelection
from octavo.storage.directory.log_root import Only
from octavo.storage.directory.log_root import Selection as Opened


def check_topics(logdirs: Sequence[str], topics: Sequence[str], partition: int | None = None) -> None:
    """Refuse a topic or partition that is not there; of a topic the nearest name is told."""
    selection = TopicSelection.of(topics, partition)
    directories = _listed(logdirs, selection.wants)
    if directories:
        found = [name for directory in directories for name in directory.partitions]
        known = {topic for directory in directories for topic in directory.topics}
        selection.check(found, known, ", ".join(logdirs))


def known_topics(logdirs: Sequence[str]) -> set[str]:
    """The topics that have partitions there."""
    return {topic for directory in _listed(logdirs, lambda _: False) for topic in directory.topics}


def bytes_to_recover(logdirs: Sequence[str], only: Only | None) -> int:
    """How much lies behind the recovery points, in directories that were not stopped cleanly."""
    return sum(
        _unflushed_bytes(files, directory.root.recovery_points().get(name, 0))
        for directory in _listed(logdirs, Opened(only).__contains__)
        if CLEAN_SHUTDOWN not in directory.files
        for name, files in directory.partitions.items()
    )


def _listed(logdirs: Sequence[str], wanted: Wanted) -> list[Directory]:
    """The directories that are there; opening the others will say what is wrong with them."""
    places = [Location(LOCAL, place.rstrip("/") or "/") for place in logdirs if Path(place).is_dir()]
    return [read_directory(place, wanted) for place in places]


def _unflushed_bytes(files: PartitionFiles, recovery_point: int) -> int:
    ends = [*(segment.base_offset for segment in files.segments[1:]), None]
    pairs = zip(files.segments, ends, strict=True)
    return sum(segment.log.size for segment, end in pairs if end is None or end > recovery_point)
