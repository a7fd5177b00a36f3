"""Log directories of this machine that a job changes in place: listed, and locked while it does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from octavo.errors import ScanError
from octavo.scanner.log_dirs import Place
from octavo.scanner.places.directory import Directory, read_directory
from octavo.scanner.places.location import LOCAL, locate
from octavo.scanner.places.selection import TopicSelection
from octavo.storage.directory.log_root import lock_directory


@contextmanager
def directories(places: Sequence[Place], topics: Sequence[str], *, write: bool) -> Iterator[list[Directory]]:
    """The places with the partitions of the topics, all if none is named; to be written to, they are locked.

    A topic that none of them has is refused.
    """
    found = [_listed(place, topics) for place in places]
    _check(found, topics)
    if not write:
        yield found
        return
    with ExitStack() as locks:
        for root in dict.fromkeys(Path(directory.root.location.path).resolve() for directory in found):
            locks.callback(lock_directory(root).release)
        yield [_listed(place, topics) for place in places]  # as it is now that nobody else changes it


def _listed(place: Place, topics: Sequence[str]) -> Directory:
    location = locate(place)
    if location.file_system != LOCAL:
        raise ScanError(f"{location}: expected a path of this machine, since files are written")
    return read_directory(location, (lambda name: name.topic in topics) if topics else None)


def _check(found: Sequence[Directory], topics: Sequence[str]) -> None:
    partitions = [name for directory in found for name in directory.partitions]
    known = {topic for directory in found for topic in directory.topics}
    TopicSelection.of(topics or None).check(partitions, known, ", ".join(str(directory.place) for directory in found))
