"""Reads what the roots of log directories, at a path or a URL, say about topics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.errors import CorruptionError
from octavo.scanner.places.location import UNKNOWN_SIZE, Location, ReadableFileSystem
from octavo.storage.topics.metadata_configs import metadata_records
from octavo.storage.topics.topic_configs import TopicConfigs
from octavo.system.filesystem import MOST_BYTES

if TYPE_CHECKING:
    from octavo.format.messages.records import MetadataRecord


@dataclass(frozen=True, slots=True)
class _Files:
    """Adapts a read-only file system to the interface that the reader of configs needs."""

    file_system: ReadableFileSystem

    def names(self, folder: Path) -> list[str]:
        entries = self._at(folder).list()
        return sorted(entry.name for entry in entries if not entry.is_folder and entry.size != UNKNOWN_SIZE)

    def exists(self, path: Path) -> bool:
        try:
            self._at(path).entry()
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def is_folder(self, path: Path) -> bool:
        return self._at(path).entry().is_folder

    def read_bytes(self, path: Path) -> bytes:
        return self._at(path).read(MOST_BYTES)

    def _at(self, path: Path) -> Location:
        return Location(self.file_system, str(path))


def source_configs(roots: Iterable[Location]) -> TopicConfigs:
    """The configs in the roots of log directories: Octavo's own file overrides the cluster's metadata."""
    configs = TopicConfigs()
    for root in dict.fromkeys(roots):
        try:
            configs.read(_Files(root.file_system), Path(root.path))
        except CorruptionError as error:
            raise error.at(path=root.file_system.shown(error.path or root.path)) from None
    return configs


def source_metadata(roots: Iterable[Location]) -> Iterator[MetadataRecord]:
    """The records of the cluster's metadata in the roots."""
    for root in dict.fromkeys(roots):
        yield from metadata_records(_Files(root.file_system), Path(root.path))
