"""commitGroup: a stream's progress as the committed offsets of a group, where lag tools look for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from octavo.coordinator.groups.coordinator import GroupCoordinator
from octavo.coordinator.groups.offsets import OffsetAndMetadata
from octavo.coordinator.internal_topics import CONSUMER_OFFSETS
from octavo.errors import ConfigError, LogDirLockedError
from octavo.spark.query.values import PartitionOffsets
from octavo.storage.publish import Publisher
from octavo.system.urls import local_path

WITHOUT_IT = "leave commitGroup out: the stream's checkpoint keeps its progress too"
_WHO_ELSE = (
    "commitGroup writes the stream's offsets there, which only the owner of a directory can do. If the owner is a"
    " broker, give its host:port as commitServers, and the offsets are sent to it. Otherwise stop the owner (a program"
    f" with a LogDir), or {WITHOUT_IT}"
)


@dataclass(frozen=True, slots=True)
class GroupCommits:
    """Writes to `__consumer_offsets` of the directories that are read, as their owner for a moment each time.

    The stream does not read what it commits: its checkpoint alone says where it continues. So a commit that is repeated
    or missing after a crash does no harm.
    """

    group: str
    publisher: Publisher

    @classmethod
    def of(cls, group: str, paths: tuple[str, ...], lock_timeout_seconds: float) -> GroupCommits:
        roots = []
        for path in paths:
            local = local_path(path)
            if local is None or not Path(local).is_dir() or list(Path(local).glob("*.log")):
                raise ConfigError(
                    f"{path}: commitGroup writes to __consumer_offsets, so give whole local log directories, or the"
                    " host:port of a broker as commitServers"
                )
            roots.append(Path(local))
        return cls(group, Publisher(roots=tuple(roots), lock_timeout_seconds=lock_timeout_seconds))

    def commit(self, offsets: PartitionOffsets, topic_ids: Mapping[str, bytes | None]) -> None:
        """Commit the next offsets to read, as one batch. Waits for the lock as the sink does."""
        try:
            with self.publisher.own([CONSUMER_OFFSETS]) as log_manager:
                rows = {partition: OffsetAndMetadata(offset) for partition, offset in offsets.items()}
                GroupCoordinator(log_manager).offsets.commit(self.group, rows, topic_ids)
        except LogDirLockedError as error:
            raise LogDirLockedError(f"{error}. {_WHO_ELSE}") from None
