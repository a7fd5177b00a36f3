"""`Consumer`: returns the records of topics on demand, and commits its group's offsets."""

from __future__ import annotations

import logging
import re
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from octavo.client.consumer.assignment import AssignedPartitions, Listeners, RebalanceListener
from octavo.client.consumer.commits import OffsetCommits
from octavo.client.consumer.config import ConsumerConfig
from octavo.client.consumer.membership import AllPartitions, GroupShare, ManualAssignment, Membership, Subscription
from octavo.client.consumer.partition_state import PartitionState
from octavo.coordinator.groups.committed import CommittedOffsets
from octavo.coordinator.groups.local_members import LocalConfig, LocalMembers
from octavo.coordinator.groups.offsets import OffsetAndMetadata
from octavo.errors import IllegalStateError, UnknownTopicOrPartitionError, no_such_topic
from octavo.format.names import Partition, TopicPartition, as_topic_partition
from octavo.format.record import SpecialTimestamp
from octavo.scanner.following.collect import Collector
from octavo.scanner.reading.records import ConsumerRecord, DecodeRecord
from octavo.storage.log_manager import LogManager
from octavo.system.clock import end_of
from octavo.system.closing import Closing
from octavo.system.forks import FORKED
from octavo.system.shown import some
from octavo.system.signals import Signal

_log = logging.getLogger(__name__)

# How long to sleep before looking again at logs that have nothing new.
_LOOK_SECONDS = 0.005

# Appends what producers hold back for these topics.
WriteHeld = Callable[[Collection[str]], None]


class Consumer(Closing):
    """Reads the partitions it is assigned, or its share of the topics it is subscribed to.

    Not thread-safe, like Kafka's: use one per thread. `LogDir.consumer` creates one; close it, or use it with `with`.
    Closing commits the positions, if commits are automatic, and gives the partitions to the rest of the group.
    """

    def __init__(
        self,
        log_manager: LogManager,
        config: ConsumerConfig,
        members: LocalMembers,
        offsets: CommittedOffsets,
        write_held: WriteHeld,
        decode: DecodeRecord | None = None,
    ) -> None:
        self.config = config
        self._write_held_of = write_held
        self._log_manager = log_manager
        self._members = members
        self._commits = OffsetCommits(log_manager, config, offsets)
        self._assignment = AssignedPartitions(log_manager, config, self._commits, decode)
        self._states = self._assignment.states
        self._collector = Collector(self._states)
        self._named: frozenset[str] = frozenset()  # topics that are subscribed to by name
        self._warned: frozenset[str] = frozenset()  # the names at the last check for missing topics
        self._loop: Iterator[ConsumerRecord] | None = None
        self._idle = Signal()
        self._is_woken = False
        self._refusal: str | None = None  # why it cannot be used in this process
        self.is_closed = False

    def __repr__(self) -> str:
        group = "" if self.config.group_id is None else f" of group {self.config.group_id}"
        state = "closed" if self.is_closed else some(self._states) or "no partitions yet"
        return f"<Consumer{group}: {state}>"

    def __del__(self) -> None:
        """Leave the group when another member polls: this consumer was dropped without being closed.

        The garbage collector may call this anywhere, inside any lock, so nothing is written and no lock is taken.
        """
        assignment: AssignedPartitions | None = getattr(self, "_assignment", None)
        if assignment is not None and assignment.membership is not None:
            assignment.membership.leave_later()

    def subscribe(
        self,
        topics: str | Iterable[str] = (),
        *,
        pattern: str | None = None,
        on_assigned: RebalanceListener | None = None,
        on_revoked: RebalanceListener | None = None,
    ) -> None:
        """Read topics, given by name or by a pattern; the members of the group share their partitions.

        Without a group the consumer reads all partitions. Topics need not exist yet: the first poll that finds nothing
        logs a warning about those that do not, and a loop raises an error if it ends before they exist.

        Polls and loops call `on_assigned` with new partitions, and `on_revoked` with those that the consumer gives up,
        or that it lost because it did not poll within max.poll.interval.ms. `on_revoked` is also called with all
        partitions by another `subscribe`, `assign`, `unsubscribe` or `close`.
        """
        self._check_own()
        names = frozenset([topics] if isinstance(topics, str) else topics)
        compiled = re.compile(pattern) if pattern else None
        subscription = Subscription(names, compiled, self.config.exclude_internal_topics)
        config = self.config
        membership: Membership = AllPartitions(self._log_manager, subscription)
        if config.group_id is not None:
            member = LocalConfig(config.group_id, config.assignor, config.max_poll_interval_ms)
            membership = GroupShare(self._log_manager, self._members, member, subscription)
        self._assignment.replace(membership, Listeners(on_assigned, on_revoked))
        self._named = names

    def assign(self, partitions: Iterable[Partition]) -> None:
        """Read these partitions, whatever the rest of the group does."""
        self._check_own()
        assigned = [as_topic_partition(partition) for partition in partitions]
        for topic_partition in assigned:
            self._log_manager.log(*topic_partition)  # raises if it does not exist
        self._assignment.replace(ManualAssignment(assigned))
        self._named = frozenset()
        self._refresh()

    def unsubscribe(self) -> None:
        """Commit the positions, if commits are automatic, and stop reading."""
        self._check_own()
        self._assignment.replace(None)
        self._named = frozenset()

    def assignment(self) -> set[TopicPartition]:
        """The partitions that this consumer currently reads."""
        return set(self._states)

    def poll(self, timeout_ms: float = 0, max_records: int | None = None) -> dict[TopicPartition, list[ConsumerRecord]]:
        """The next records by partition, at most `max_records` (by default max.poll.records); waits up to `timeout_ms`
        for the first (-1: forever).

        If a partition cannot be read, the records of the partitions before it are returned, and the next poll raises.
        """
        limit = self.config.max_poll_records if max_records is None else max_records
        end = end_of(timeout_ms)
        self._refresh()
        self._write_held()
        while not (found := self._collector.collect(limit)).records and self._wait(end):
            self._refresh()
        if not found.records:
            self._warn_of_missing_topics()
        try:
            return found.hand_out()
        except BaseException:  # an interrupt: nobody got the records
            found.take_back()
            raise

    def __iter__(self) -> Iterator[ConsumerRecord]:
        """Yield records one by one, until there has been none for consumer.timeout.ms.

        After `wakeup`, it ends as soon as there is none. Before it ends, it commits, if commits are automatic.
        """
        end = end_of(self.config.consumer_timeout_ms)
        found = True
        while True:
            self._refresh()
            is_last_look = _is_over(end)
            if found or is_last_look:  # while it waits, linger.ms decides when producers append
                self._write_held()
            found = False
            for state in self._collector.in_turn():
                records, position = state.take(self.config.max_poll_records)
                seeks = state.seeks
                for record in records:
                    before = state.position
                    try:
                        state.advance(record.offset + 1)
                        yield record
                    except GeneratorExit:
                        raise
                    except BaseException:  # an interrupt: perhaps nobody got the record
                        if state.seeks == seeks:
                            state.advance(before)
                        raise
                    if state.seeks != seeks or self.is_closed:
                        break
                else:
                    if records:
                        state.advance(position)
                if records:
                    found, end = True, end_of(self.config.consumer_timeout_ms)
                    break
            if not found and not self._wait(end) and (is_last_look or self.is_closed or not _is_over(end)):
                self._assignment.commit_changed()
                if missing := self._missing_topics():
                    raise UnknownTopicOrPartitionError(missing)
                return

    def __next__(self) -> ConsumerRecord:
        if self._loop is None:
            # A generator with a strong reference to its owner would keep it alive until the garbage collector runs.
            self._loop = type(self).__iter__(weakref.proxy(self))
        try:
            return next(self._loop)
        except StopIteration:
            self._loop = None
            raise

    def position(self, partition: Partition) -> int | None:
        """The offset of the next record to return.

        None while auto.offset.reset is by_duration and no record is recent enough.
        """
        state = self._state(partition)
        self._write_held()
        return state.find_position()

    def seek(self, partition: Partition, offset: int) -> None:
        """Continue from an offset."""
        if offset < 0:
            raise IllegalStateError(f"cannot seek to offset {offset}: it is below 0")
        self._state(partition).seek(offset)

    def seek_to_timestamp(self, timestamp: int, *partitions: Partition) -> None:
        """Continue with the first record of this time (milliseconds) or later, or at the end if there is none: in these
        partitions, or in all."""
        for state in self._chosen(partitions):
            self._write_held()
            found = state.log.offset_for_timestamp(timestamp, self.config.isolation).offset
            state.seek(found if found >= 0 else self._end_offset(state.topic_partition))

    def seek_to_beginning(self, *partitions: Partition) -> None:
        """Go back to the first record of these partitions, or of all."""
        for state in self._chosen(partitions):
            state.seek(state.log.log_start_offset)

    def seek_to_end(self, *partitions: Partition) -> None:
        """Skip to the end of these partitions, or of all."""
        for state in self._chosen(partitions):
            state.seek(self._end_offset(state.topic_partition))

    def pause(self, *partitions: Partition) -> None:
        """Return nothing from these partitions, or from any if none is named, until `resume`."""
        for state in self._chosen(partitions):
            state.pause()

    def resume(self, *partitions: Partition) -> None:
        """End the pause of these partitions, or of all if none is named."""
        for state in self._chosen(partitions):
            state.is_paused = False

    def paused(self) -> set[TopicPartition]:
        """The partitions that are paused."""
        return {state.topic_partition for state in self._states.values() if state.is_paused}

    def commit(self, offsets: Mapping[Partition, int | OffsetAndMetadata] | None = None) -> None:
        """Commit the given offsets, or the positions of all partitions. Once it returns, they are in the log."""
        self._check_own()
        given = {
            as_topic_partition(name): offset if isinstance(offset, OffsetAndMetadata) else OffsetAndMetadata(offset)
            for name, offset in (offsets or {}).items()
        }
        positions = self._commits.positions(self._states.values()) if offsets is None else given
        self._commits.write(positions, self._assignment.membership)

    def committed(self, partition: Partition) -> OffsetAndMetadata | None:
        """The offset that the group has committed for a partition; None if there is none."""
        self._check_own()
        topic_partition = as_topic_partition(partition)
        return self._commits.committed([topic_partition]).get(topic_partition)

    def offsets_for_times(self, times: Mapping[Partition, int]) -> dict[TopicPartition, int | None]:
        """For each partition, the offset of the first record of the given time (milliseconds) or later; None if there
        is none."""
        found = {}
        for partition, timestamp in times.items():
            topic_partition = as_topic_partition(partition)
            self._write_held_of([topic_partition.topic])
            log = self._log_manager.log(*topic_partition)
            offset = log.offset_for_timestamp(timestamp, self.config.isolation).offset
            found[topic_partition] = None if offset < 0 else offset
        return found

    def beginning_offsets(self, partitions: Iterable[Partition]) -> dict[TopicPartition, int]:
        """The log start offset of each partition."""
        named = map(as_topic_partition, partitions)
        return {partition: self._log_manager.log(*partition).log_start_offset for partition in named}

    def end_offsets(self, partitions: Iterable[Partition]) -> dict[TopicPartition, int]:
        """For each partition, the offset after the last record that a consumer with this isolation level may see."""
        return {partition: self._end_offset(partition) for partition in map(as_topic_partition, partitions)}

    def wakeup(self) -> None:
        """End a wait in `poll` or in a loop, from another thread."""
        self._is_woken = True
        self._idle.notify()

    def close(self) -> None:
        """Commit the positions, if commits are automatic, and leave the group.

        If it is interrupted, it can be called again.
        """
        if self._refusal is not None:
            return
        self.is_closed = True
        self.wakeup()
        self.unsubscribe()
        self._refusal = "the consumer is closed"

    def disown(self) -> None:
        """In a forked child: refuse every use."""
        self._refusal = f"the consumer cannot be used: {FORKED}"

    def _refresh(self) -> None:
        """Follow changes in topics and in the group, and commit if it is time."""
        self._check_own()
        if self.is_closed:
            raise IllegalStateError("the consumer is closed")
        self._assignment.refresh()

    def _write_held(self) -> None:
        """Make the producers of this LogDir append what they hold for the topics read here.

        Called before logs are read, not after finding nothing: a producer may append on its own in between, and then
        nobody would read again.
        """
        self._write_held_of({topic_partition.topic for topic_partition in self._states})

    def _missing_topics(self) -> str:
        """A message about subscribed topics that do not exist; empty if they all do."""
        there = self._log_manager.topics
        missing = sorted(self._named - there.keys())
        return "; ".join(no_such_topic(topic, there) for topic in missing)

    def _warn_of_missing_topics(self) -> None:
        if self._named != self._warned and (missing := self._missing_topics()):
            is_one = len(self._named - self._log_manager.topics.keys()) == 1
            what, they_are = ("its", "it is") if is_one else ("their", "they are")
            _log.warning("%s; %s records are read once %s created", missing, what, they_are)
        self._warned = self._named

    def _check_own(self) -> None:
        if self._refusal is not None:
            raise IllegalStateError(self._refusal)

    def _wait(self, end: float | None) -> bool:
        """Sleep briefly; returns whether to look again: not if the time is over, or `wakeup` was called."""
        left = _LOOK_SECONDS if end is None else min(end - time.monotonic(), _LOOK_SECONDS)
        if left > 0 and not self._idle.wait(lambda: self._is_woken, left):
            return True
        self._is_woken = False
        return False

    def _state(self, partition: Partition) -> PartitionState:
        topic_partition = as_topic_partition(partition)
        if topic_partition not in self._states and self._assignment.membership is not None:
            self._refresh()
        if topic_partition not in self._states:
            raise UnknownTopicOrPartitionError(f"partition {topic_partition} is not assigned to this consumer")
        return self._states[topic_partition]

    def _chosen(self, partitions: tuple[Partition, ...]) -> list[PartitionState]:
        """The states of these partitions, or of all if none is named."""
        if not partitions:
            self._refresh()
            return list(self._states.values())
        return [self._state(partition) for partition in partitions]

    def _end_offset(self, partition: Partition) -> int:
        log = self._log_manager.log(*partition)
        self._write_held_of([partition[0]])
        return log.offset_for_timestamp(SpecialTimestamp.LATEST, self.config.isolation).offset


def _is_over(end: float | None) -> bool:
    return end is not None and time.monotonic() >= end
