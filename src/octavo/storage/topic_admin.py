"""Creating, changing and deleting the topics of a `LogDir`."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from dataclasses import replace

from octavo.config import BrokerConfig, Given, LogConfig
from octavo.errors import InvalidPartitionsError, InvalidTopicError, KafkaStorageError, TopicExistsError
from octavo.format.commit_store import PendingTopic
from octavo.format.names import FolderState, PartitionFolder, TopicPartition, collide, topic_problem
from octavo.storage.environment import Environment
from octavo.storage.identity import random_uuid
from octavo.storage.log_root import LogRoot
from octavo.storage.open_logs import OpenLogs
from octavo.storage.partition_opener import PartitionOpener
from octavo.storage.topic_configs import TopicConfigs
from octavo.storage.topic_store import StoredTopic, write_topics

# How many, numbered from 0 on, or the numbers themselves: one disk of a cluster has some of a topic's partitions.
Partitions = int | Collection[int]


class TopicAdmin:
    """Changes topics, one change at a time."""

    def __init__(
        self,
        logs: OpenLogs,
        opener: PartitionOpener,
        environment: Environment,
        broker_config: BrokerConfig,
        configs: TopicConfigs,
    ) -> None:
        self._logs = logs
        self._opener = opener
        self._environment = environment
        self._broker_config = broker_config
        self._configs = configs

    def create(
        self, topic: str, partitions: Partitions | None, configs: Mapping[str, Given], topic_id: bytes | None = None
    ) -> bytes:
        """Make a topic, each partition in the directory that holds the fewest; returns its id."""
        with self._logs.usable():
            new = self.prepare(topic, partitions, configs, topic_id)
            is_whole = partitions is None or isinstance(partitions, int)
            self.make(new, len(new.partitions) if is_whole else None)
            return new.topic_id

    def prepare(
        self, topic: str, partitions: Partitions | None, configs: Mapping[str, Given], topic_id: bytes | None = None
    ) -> PendingTopic:
        """What is to be made of a topic; refused where it cannot be. What a deleted one had of that name is gone."""
        with self._logs.usable():
            self._check_name(topic)
            wanted = self._broker_config.num_partitions if partitions is None else partitions
            numbers = range(wanted) if isinstance(wanted, int) else sorted(set(wanted))
            if not numbers or numbers[0] < 0:
                raise InvalidPartitionsError(f"{wanted} partitions for topic {topic}, expected at least 1")
            self._configs.forget(topic)
            altered = self._configs.altered(topic, configs)
            return PendingTopic(topic, topic_id or random_uuid(), tuple(numbers), altered)

    def config(self, new: PendingTopic) -> LogConfig:
        """The configs that a topic will have."""
        return self._configs.of(new.topic, {name: value for name, value in new.configs.items() if value is not None})

    def make(self, new: PendingTopic, total: int | None) -> None:
        """Make a topic, or what a crash has left out of it.

        `total` partitions it has on all disks, where that is known.

        1. Store id, configs and total. 2. Make the folders. 3. Sync their names. After a crash the topic has the
        partitions that were made, and `check_complete` says that it lacks some, unless it is made again from the same
        value.
        """
        with self._logs.usable():
            self._logs.make_missing()
            names, there = new.names(), self._logs.logs
            self._configs.store(new.topic, StoredTopic(new.topic_id, dict(new.configs), total))
            self._write_topics()
            self._create_partitions([name for name in names if name not in there], new.topic_id)

    def grow(self, topic: str, partitions: Partitions) -> None:
        """Give a topic more partitions, up to a total, or those with the given numbers.

        1. Make the folders. 2. Sync their names. 3. Store the total. After a crash it can be done again.
        """
        with self._logs.usable():
            known = self._logs.partitions(topic)
            if isinstance(partitions, int):
                self.check_complete(topic)  # those on a disk that is not there would be made again
            if isinstance(partitions, int) and partitions <= len(known):
                found = f"topic {topic} has {len(known)} partitions"
                raise InvalidPartitionsError(f"{found}, expected a larger total than that, not {partitions}")
            topic_id = self._logs.log(known[0]).topic_id or random_uuid()
            numbers = range(partitions) if isinstance(partitions, int) else sorted(set(partitions))
            wanted = (TopicPartition(topic, partition) for partition in numbers)
            self._create_partitions([name for name in wanted if name not in known], topic_id)
            if isinstance(partitions, int):
                stored = self._configs.stored.get(topic) or StoredTopic(topic_id)
                self._configs.store(topic, replace(stored, partitions=partitions))
                self._write_topics()

    def alter(self, topic: str, changes: Mapping[str, Given | None]) -> LogConfig:
        """Change configs of a topic, None being the default; its logs take them at once."""
        with self._logs.usable():
            known = [self._logs.log(name) for name in self._logs.partitions(topic)]
            configs = self._configs.altered(topic, changes)
            stored = self._configs.stored.get(topic)
            topic_id = next((log.topic_id for log in known if log.topic_id), None)
            topic_id = topic_id or (stored.topic_id if stored else random_uuid())
            self._configs.store(topic, StoredTopic(topic_id, configs, stored.partitions if stored else None))
            self._write_topics()
            config = self._configs.of(topic)
            for log in known:
                log.configure(config)
            return config

    def delete(self, topic: str) -> None:
        """Rename a topic's folders to `-delete`, and remove them after the broker's file.delete.delay.ms.

        1. Rename each folder. 2. Store the topics that are left. 3. Write the checkpoints without the topic. After a
        crash the partitions whose folder was not renamed are still there.
        """
        with self._logs.usable():
            names = self._logs.partitions(topic)
            roots: dict[LogRoot, None] = dict.fromkeys(self._logs.home(name) for name in names)
            for name in names:
                log = self._logs.log(name)
                log.leave(PartitionFolder(*name, FolderState.DELETE, secrets.token_hex(16)).name)
                self._logs.remove(name)
                delay_ms = self._configs.defaults.file_delete_delay_ms
                self._environment.scheduler.schedule("delete-log", log.delete, delay_ms=delay_ms)
            self._configs.forget(topic)
            self._write_topics()
            for root in roots:
                with root.using():
                    root.forget_cleaner_offsets(names)
                    root.write_checkpoints(self._logs.of(root))

    def check_complete(self, topic: str) -> None:
        """Refuse a topic of which not all partitions are open: keys would go to others than those of Kafka.

        Of a topic that Octavo did not make, only gaps between its partitions can be seen.
        """
        stored = self._configs.stored.get(topic)
        known = self._logs.topics()[topic]
        total = max(known[-1] + 1, (stored and stored.partitions) or 0)
        missing = min(set(range(total)) - set(known), default=None)
        if missing is not None:
            problem = f"partition {missing} of topic {topic} is in none of the log directories"
            raise InvalidPartitionsError(f"{problem}, expected all that the topic has")

    def _check_name(self, topic: str) -> None:
        check_topic_name(topic)
        for other in self._logs.known_topics:
            if other == topic:
                raise TopicExistsError(f"topic {topic} exists already")
            if collide(topic, other):
                raise InvalidTopicError(f"topic name {topic} collides with {other}: '.' and '_' count as the same")

    def _create_partitions(self, names: list[TopicPartition], topic_id: bytes) -> None:
        roots = dict.fromkeys(self._create_partition(name, topic_id) for name in names)
        for root in roots:
            with root.using():
                self._environment.filesystem.fsync_folder(root.path)

    def _create_partition(self, name: TopicPartition, topic_id: bytes) -> LogRoot:
        """Make it where there are the fewest; where that disk fails, in the next directory."""
        while True:
            root = self._logs.emptiest()
            try:
                self._opener.create(name, root, topic_id)
                return root
            except KafkaStorageError:
                if root.failure is None:
                    raise

    def _write_topics(self) -> None:
        for root in self._logs.live_roots:
            with root.unless_offline():
                write_topics(self._environment.filesystem, root.path, self._configs.stored)


def check_topic_name(topic: str) -> None:
    """Refuse a name that no topic may have."""
    problem = topic_problem(topic)
    if problem is not None:
        raise InvalidTopicError(f"topic name is invalid: {problem}")
