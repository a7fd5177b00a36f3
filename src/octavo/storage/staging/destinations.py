"""Finds where a task stages a topic's batches: the partitions' folders and configs, as found in the directories.

No lock is taken and no log is opened; the commit checks again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from octavo.config import Given, LogConfig
from octavo.errors import CorruptionError, UnknownTopicOrPartitionError, no_such_partition
from octavo.format.names import FolderState, PartitionFolder, TopicPartition, check_writable
from octavo.format.small_files.commit_store import PendingTopic
from octavo.storage.directory.topic_admin import check_topic_name
from octavo.storage.staging.ledger import read_store
from octavo.storage.staging.stage import StagingPlace
from octavo.storage.topics.topic_configs import TopicConfigs
from octavo.system.filesystem import FileSystem


@dataclass(frozen=True, slots=True)
class Destination:
    """A topic that batches are staged for."""

    topic: str
    config: LogConfig
    folders: Mapping[int, Path]  # by partition
    partitions: int
    exists: bool

    def place(self, partition: int) -> StagingPlace:
        """Where a partition's batches are staged."""
        if not 0 <= partition < self.partitions:
            raise UnknownTopicOrPartitionError(no_such_partition(self.topic, partition, range(self.partitions)))
        folder, name = self.folders[partition], TopicPartition(self.topic, partition)
        return StagingPlace(name, folder, self.config.segment_bytes, None if self.exists else self.partitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopics:
    """What to do about topics that do not exist."""

    create: bool = True
    partitions: int = 1
    configs: Mapping[str, Given]


class Destinations:
    """Topics by name, as they were when this object was created. Missing log directories are created. Not
    thread-safe."""

    def __init__(self, filesystem: FileSystem, roots: Sequence[Path], new_topics: NewTopics) -> None:
        self._new_topics = new_topics
        self._roots = roots
        self._known: dict[str, Destination] = {}
        self._folders: dict[str, dict[int, Path]] = {}
        self._pending: dict[str, PendingTopic] = {}  # partly created by a commit that is in progress or was interrupted
        self._configs = TopicConfigs()
        for root in roots:
            filesystem.mkdir(root)
        self._look(filesystem)
        for root in roots:  # after the folders: a topic is recorded before the first of its folders is made
            self._configs.read(filesystem, root)

    def of(self, topic: str) -> Destination:
        """The topic, or what it will be once it is created; raises if it neither exists nor is to be created."""
        if topic not in self._known:
            check_writable(topic)
            folders, pending = self._folders.get(topic, {}), self._pending.get(topic)
            if pending is not None:
                self._known[topic] = self._half_made(pending, folders)
            else:
                self._known[topic] = self._found(topic, folders) if folders else self._to_be_made(topic)
        return self._known[topic]

    def _look(self, filesystem: FileSystem) -> None:
        """List folders and pending topics as of the same moment: the pending topics must be equal before and after."""
        stores = [read_store(filesystem, root) for root in self._roots]
        while True:
            self._folders.clear()
            for root in self._roots:
                for name in filesystem.folders(root):
                    with suppress(CorruptionError):
                        folder = PartitionFolder.parse(name)
                        if folder.state is FolderState.CURRENT:
                            self._folders.setdefault(folder.topic, {})[folder.partition] = root / name
            before, stores = stores, [read_store(filesystem, root) for root in self._roots]
            if stores == before:
                break
        commits = [store.pending for store in stores if store.pending is not None]
        self._pending = {topic.topic: topic for commit in commits for topic in commit.topics}

    def _half_made(self, pending: PendingTopic, folders: Mapping[int, Path]) -> Destination:
        """A partly created topic, which will be complete before anything else is committed."""
        places = {**dict.fromkeys(pending.partitions, self._roots[0]), **folders}
        config = self._configs.of_new(pending.topic, pending.configs)
        return Destination(pending.topic, config, places, len(places), exists=False)

    def _found(self, topic: str, folders: dict[int, Path]) -> Destination:
        stored = self._configs.stored.get(topic)
        count = max(max(folders) + 1, (stored and stored.partitions) or 0)
        if len(folders) < count:
            here, roots = ", ".join(map(str, sorted(folders))), ", ".join(map(str, self._roots))
            hint = "give all log directories that have partitions of it"
            if stored is not None and stored.pending is not None:
                hint = "it is being created or deleted; if that was interrupted, open all its log directories together"
            raise UnknownTopicOrPartitionError(
                f"topic {topic}: expected partitions 0 to {count - 1} in {roots}, found only {here}; {hint}"
            )
        return Destination(topic, self._configs.of(topic), folders, count, exists=True)

    def _to_be_made(self, topic: str) -> Destination:
        """Until the topic is created its batches wait in the first directory's root, where a regular file harms
        nobody."""
        if not self._new_topics.create:
            roots = ", ".join(map(str, self._roots))
            raise UnknownTopicOrPartitionError(f"there is no topic {topic!r} in {roots}; create it first")
        check_topic_name(topic)
        count = self._new_topics.partitions
        config = self._configs.of_new(topic, self._new_topics.configs)
        return Destination(topic, config, dict.fromkeys(range(count), self._roots[0]), count, exists=False)
