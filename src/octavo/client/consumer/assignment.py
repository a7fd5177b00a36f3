"""The partitions that a consumer currently reads, kept in step with its membership."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from typing import NamedTuple

from octavo.client.consumer.commits import OffsetCommits
from octavo.client.consumer.config import ConsumerConfig
from octavo.client.consumer.membership import Membership
from octavo.client.consumer.partition_state import PartitionState
from octavo.coordinator.log_reader import FetchOptions
from octavo.errors import IllegalStateError
from octavo.format.names import TopicPartition
from octavo.scanner.reading.records import DecodeRecord
from octavo.storage.log_manager import LogManager

RebalanceListener = Callable[[set[TopicPartition]], object]


class Listeners(NamedTuple):
    """Called with partitions that the consumer gets, and with partitions that it gives up or has lost."""

    on_assigned: RebalanceListener | None = None
    on_revoked: RebalanceListener | None = None


class AssignedPartitions:
    """Starts reading new partitions, commits and gives back revoked ones, and calls the listeners.

    `membership` is None while the consumer is neither subscribed nor assigned anything. Not thread-safe.
    """

    def __init__(
        self,
        log_manager: LogManager,
        config: ConsumerConfig,
        commits: OffsetCommits,
        decode: DecodeRecord | None = None,
    ) -> None:
        self._log_manager = log_manager
        self._clock = log_manager.environment.clock
        self._reset = config.reset
        limits = config.max_partition_fetch_bytes, config.check_crcs
        self._options = FetchOptions(config.isolation, *limits, decode=decode)
        self._commits = commits
        self._listeners = Listeners()
        self._token: object = None  # of the membership that `states` belong to
        self._announced: frozenset[TopicPartition] = frozenset()  # the partitions that the listener knows
        self.membership: Membership | None = None
        self.states: dict[TopicPartition, PartitionState] = {}

    def replace(self, membership: Membership | None, listeners: Listeners | None = None) -> None:
        """Commit and give back all partitions; from now on read those of another membership."""
        failure: Exception | None = None
        for step in (self.commit_changed, self._announce_end):
            try:
                step()
            except Exception as error:  # even if the commit or the listener fails, the others get the partitions
                failure = failure or error
        if self.membership is not None:
            self.membership.leave()
        self.membership = self._token = None
        self._drop(self.states)
        if failure is not None:
            raise failure
        self.membership, self._listeners = membership, listeners or Listeners()

    def refresh(self) -> None:
        """Follow the membership, and commit if it is time."""
        if self.membership is None:
            raise IllegalStateError("the consumer reads nothing yet: call subscribe() or assign() first")
        owned = self.membership.refresh(self._revoke)
        if self._token is not self.membership.token:  # another member may have had the partitions in the meantime
            self._drop(self.states)
            self._announced = frozenset()
            self._token = self.membership.token
        logs = self._log_manager.logs
        if replaced := {name for name, state in self.states.items() if logs.get(name, state.log) is not state.log}:
            self._revoke(replaced)  # their topics were deleted and created again
        if not self.states.keys() == owned == self._announced:
            self._take(owned)
        if self._commits.is_due:
            self.commit_changed()

    def commit_changed(self) -> None:
        self._commits.write_changed(self.states.values(), self.membership)

    def _take(self, owned: frozenset[TopicPartition]) -> None:
        """Read exactly these partitions, and call the listeners with the others and with the new ones."""
        if gone := self._announced - owned:  # of deleted topics: a group cannot name them any more
            self._revoke(gone)
        self._drop(self.states.keys() - owned)
        new = owned - self.states.keys()
        committed = self._commits.begin(new)
        for topic_partition in sorted(new):
            log = self._log_manager.log(*topic_partition)
            state = PartitionState(topic_partition, log, self._options, self._reset, self._clock)
            if topic_partition in committed:
                state.seek(committed[topic_partition])
            self.states[topic_partition] = state
        unannounced = owned - self._announced
        if self._listeners.on_assigned is not None and unannounced:
            self._listeners.on_assigned(set(unannounced))
        self._announced = owned

    def _revoke(self, partitions: Set[TopicPartition]) -> None:
        revoked = [state for topic_partition, state in self.states.items() if topic_partition in partitions]
        self._commits.write_changed(revoked, self.membership)
        announced = self._announced & partitions
        if self._listeners.on_revoked is not None and announced:
            self._listeners.on_revoked(set(announced))
        self._drop(partitions)
        self._announced -= partitions

    def _drop(self, partitions: Iterable[TopicPartition]) -> None:
        for topic_partition in list(partitions):
            if (state := self.states.pop(topic_partition, None)) is not None:
                state.give_up()

    def _announce_end(self) -> None:
        """Call the listener with all partitions, once: it may itself close the consumer."""
        announced, self._announced = self._announced, frozenset()
        if self._listeners.on_revoked is not None and announced:
            self._listeners.on_revoked(set(announced))
