"""Creates, changes and deletes the topics of a `LogManager`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from octavo.config import BrokerConfig, Given, LogConfig
from octavo.errors import (
    InvalidPartitionsError,
    InvalidTopicError,
    TopicExistsError,
    UnknownTopicOrPartitionError,
    did_you_mean,
)
from octavo.format.names import TopicPartition, collide, topic_problem
from octavo.format.small_files.commit_store import PendingTopic
from octavo.storage.directory.identity import random_uuid
from octavo.storage.directory.log_roots import make_missing
from octavo.storage.directory.open_logs import OpenLogs
from octavo.storage.directory.partition_opener import PartitionOpener
from octavo.storage.directory.topic_changes import TopicChanges
from octavo.storage.environment import Environment
from octavo.storage.partition_log import PartitionLog
from octavo.storage.topics.topic_configs import TopicConfigs
from octavo.storage.topics.topic_store import Change, StoredTopic

# A count, for partitions numbered from 0, or the numbers themselves: one disk of a cluster has only some of a topic's
# partitions.
Partitions = int | Collection[int]

_TO_COMPLETE = "open all its log directories together, and all partitions, to complete that"


class TopicAdmin:
    """Checks and makes changes to topics, one at a time."""

    def __init__(
        self,
        logs: OpenLogs,
        opener: PartitionOpener,
        environment: Environment,
        broker_config: BrokerConfig,
        configs: TopicConfigs,
    ) -> None:
        self._logs = logs
        self._environment = environment
        self._broker_config = broker_config
        self._configs = configs
        self._changes = TopicChanges(logs, opener, environment, configs)

    def create(
        self, topic: str, partitions: Partitions | None, configs: Mapping[str, Given], topic_id: bytes | None = None
    ) -> bytes:
        """Create a topic, each partition in the directory that `OpenLogs.place` chooses; returns the topic's id."""
        with self._logs.usable():
            new = self.prepare(topic, partitions, configs, topic_id)
            is_whole = partitions is None or isinstance(partitions, int)
            self.make(new, len(new.partitions) if is_whole else None)
            return new.topic_id

    def prepare(
        self, topic: str, partitions: Partitions | None, configs: Mapping[str, Given], topic_id: bytes | None = None
    ) -> PendingTopic:
        """What to create for a topic; raises if that is impossible. Changes nothing."""
        with self._logs.usable():
            self._check_name(topic)
            wanted = self._broker_config.num_partitions if partitions is None else partitions
            numbers = _numbers(topic, wanted)
            if not numbers:
                raise InvalidPartitionsError(f"{wanted} partitions for topic {topic}: it needs at least 1")
            altered = self._configs.altered(topic, configs, is_new=True)
            return PendingTopic(topic, topic_id or random_uuid(), tuple(numbers), altered)

    def config(self, new: PendingTopic) -> LogConfig:
        """The configs that a topic will have."""
        return self._configs.of_new(new.topic, new.configs)

    def make(self, new: PendingTopic, total: int | None) -> None:
        """Create a topic, or the rest of one after a crash; `total` is its number of partitions on all disks, if known.

        After a crash, reopening the directories leaves either all of its partitions or none.
        """
        with self._logs.usable():
            make_missing(self._logs.roots, self._environment)
            there = self._logs.known_partitions
            missing = [topic_partition for topic_partition in new.topic_partitions() if topic_partition not in there]
            self._changes.add(new.topic, missing, StoredTopic(new.topic_id, dict(new.configs), total))

    def grow(self, topic: str, partitions: Partitions) -> None:
        """Add partitions to a topic, all or none: up to a total, or the ones with the given numbers."""
        with self._logs.usable():
            known = self._logs.partitions(topic)
            if isinstance(partitions, int):
                self.check_complete(topic)  # partitions on an absent disk would be created twice
            if isinstance(partitions, int) and partitions <= len(known):
                problem = f"the new total of partitions must be larger than {len(known)}, not {partitions}"
                raise InvalidPartitionsError(f"topic {topic}: {problem}")
            topic_id = self._logs.log(known[0]).topic_id or random_uuid()
            wanted = [TopicPartition(topic, partition) for partition in _numbers(topic, partitions)]
            stored = self._configs.stored.get(topic) or StoredTopic(topic_id)
            total = partitions if isinstance(partitions, int) else stored.partitions
            grown = replace(stored, topic_id=topic_id, partitions=total, pending=None)
            self._changes.add(
                topic, [topic_partition for topic_partition in wanted if topic_partition not in known], grown
            )

    def alter(self, topic: str, changes: Mapping[str, Given | None]) -> LogConfig:
        """Change a topic's configs, effective at once; None resets a config to its default."""
        with self._logs.usable():
            known = [self._logs.log(topic_partition) for topic_partition in self._logs.partitions(topic)]
            configs = self._configs.altered(topic, changes)
            self._changes.store({topic: replace(self._stored(topic, known), configs=configs)})
            config = self._configs.of(topic)
            for log in known:
                log.configure(config)
            return config

    def delete(self, topics: Iterable[str]) -> None:
        """Rename the folders of topics to `-delete`, and remove them after the broker's log.segment.delete.delay.ms.

        After a crash, reopening the directories leaves either all folders of a topic renamed or none.
        """
        with self._logs.usable():
            self._changes.remove(
                {topic: self._stored(topic, map(self._logs.log, self._logs.partitions(topic))) for topic in topics}
            )

    def _stored(self, topic: str, logs: Iterable[PartitionLog]) -> StoredTopic:
        """What is stored for a topic, with the id from its logs; for a topic made by a broker, what would be stored."""
        stored = self._configs.stored.get(topic)
        topic_id = next((log.topic_id for log in logs if log.topic_id), None)
        topic_id = topic_id or (stored.topic_id if stored else random_uuid())
        return replace(stored or StoredTopic(topic_id), topic_id=topic_id)

    def complete_pending(self) -> None:
        """Complete the topic changes that a crash interrupted, before anybody uses the topics."""
        with self._logs.usable():
            self._changes.complete()

    def is_pending(self, topic: str) -> bool:
        """Whether an interrupted change of the topic could not be completed."""
        stored = self._configs.stored.get(topic)
        return stored is not None and stored.pending is not None

    def is_absent(self, topic_partition: TopicPartition) -> bool:
        """Whether a partition must be in a directory that is not open, since its topic has that many partitions."""
        stored = self._configs.stored.get(topic_partition.topic)
        if stored is None or (stored.pending is not None and stored.pending.change is Change.DELETE):
            return False
        total = stored.partitions or 0
        return topic_partition.partition < total and topic_partition not in self._logs.known_partitions

    def check_complete(self, topic: str) -> None:
        """Refuse a topic whose partitions are not all open: keys would go to other partitions than in Kafka.

        If the topic's total is not known, only partitions missing before its last open one can be noticed.
        """
        stored = self._configs.stored.get(topic)  # read before the partitions: they appear before it is stored
        known = self._logs.topics().get(topic)
        if known is None and topic in self._logs.known_topics:
            raise UnknownTopicOrPartitionError(f"topic {topic!r} was not opened: none of its partitions was loaded")
        if known is None:
            near = did_you_mean(topic, self._logs.known_topics)
            raise UnknownTopicOrPartitionError(f"there is no topic {topic!r}{near}")
        pending = stored.pending if stored else None
        if pending is not None and pending.change is Change.DELETE:
            raise InvalidPartitionsError(f"topic {topic} is being deleted: {_TO_COMPLETE}")
        total = max(known[-1] + 1, (stored and stored.partitions) or 0)
        missing = next((slot for slot, partition in enumerate(known) if partition != slot), len(known))
        if missing < total and pending is not None:
            problem = f"partition {missing} of topic {topic} does not exist yet: its creation was interrupted"
            raise InvalidPartitionsError(f"{problem}; {_TO_COMPLETE}, or delete the topic")
        if missing < total and TopicPartition(topic, missing) in self._logs.known_partitions:
            problem = f"partition {missing} of topic {topic} was not opened"
            raise InvalidPartitionsError(f"{problem}: open all partitions of the topic")
        if missing < total:
            problem = f"partition {missing} of topic {topic} is not in any of the log directories"
            raise InvalidPartitionsError(f"{problem}: open all directories that have partitions of it")

    def _check_name(self, topic: str) -> None:
        check_topic_name(topic)
        for other in self._logs.known_topics:
            if other == topic:
                hint = f", and is being changed: {_TO_COMPLETE}" if self.is_pending(topic) else ""
                raise TopicExistsError(f"topic {topic} already exists{hint}")
            if collide(topic, other):
                raise InvalidTopicError(f"topic name {topic} collides with {other}: '.' and '_' count as the same")


def _numbers(topic: str, partitions: Partitions) -> Sequence[int]:
    if isinstance(partitions, int):
        return range(partitions)
    numbers = sorted(set(partitions))
    if numbers and numbers[0] < 0:
        raise InvalidPartitionsError(f"partition {numbers[0]} of topic {topic}: the numbers of partitions start at 0")
    return numbers


def check_topic_name(topic: str) -> None:
    """Refuse an invalid topic name."""
    problem = topic_problem(topic)
    if problem is not None:
        raise InvalidTopicError(f"topic name is invalid: {problem}")
