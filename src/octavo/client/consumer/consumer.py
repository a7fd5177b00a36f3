"""`Consumer`: the records of topics, as they are asked for, with the offsets of a group."""

from __future__ import annotations

import re
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Self

from octavo.client.consumer.collect import Collector
from octavo.client.consumer.commits import Commits
from octavo.client.consumer.config import ConsumerConfig
from octavo.client.consumer.membership import AllPartitions, Assigned, GroupShare, Membership, Subscription
from octavo.client.consumer.partition_state import PartitionState
from octavo.coordinator.fetch import FetchForm
from octavo.coordinator.groups.groups import Groups
from octavo.coordinator.groups.offsets import OffsetAndMetadata, OffsetStore
from octavo.errors import IllegalStateError, UnknownTopicOrPartitionError
from octavo.format.names import TopicPartition
from octavo.format.record import SpecialTimestamp
from octavo.scanner.reading.records import ConsumerRecord
from octavo.storage.log_manager import LogManager
from octavo.system.forks import FORKED
from octavo.system.signals import Signal

# How long to sleep between two looks at logs that have nothing new.
_LOOK_SECONDS = 0.005

Partition = TopicPartition | tuple[str, int]
Listener = Callable[[set[TopicPartition]], object]


class Consumer:
    """Reads partitions that it is assigned, or its share of the topics that it is subscribed to.

    Not thread-safe, as Kafka's is not: one a thread. `LogDir.consumer` makes one; to be closed, or used with `with`:
    closing commits what was handed out and gives the partitions to the rest of the group.
    """

    def __init__(self, logs: LogManager, config: ConsumerConfig, groups: Groups, offsets: OffsetStore) -> None:
        self.config = config
        self._logs = logs
        self._clock = logs.environment.clock
        self._group = None if config.group_id is None else groups.group(config.group_id)
        self._commits = Commits(logs, config, offsets)
        self._form = FetchForm(config.isolation, config.max_partition_fetch_bytes, config.check_crcs)
        self._membership: Membership | None = None
        self._listeners: tuple[Listener | None, Listener | None] = (None, None)
        self._collector = Collector()
        self._states = self._collector.states
        self._loop: Iterator[ConsumerRecord] | None = None
        self._idle = Signal()
        self._is_woken = False
        self._refusal: str | None = None  # why it cannot be used in this process
        self._token: object = None  # of the membership that the partitions' states are of
        self._announced: frozenset[TopicPartition] = frozenset()  # what the listener was told of
        self.is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        """A consumer that nobody has any more: its group learns of that when another member polls.

        This runs wherever the garbage collector does, inside any lock: nothing is written, and no lock is taken.
        """
        membership: Membership | None = getattr(self, "_membership", None)
        if membership is not None:
            membership.forsake()

    def subscribe(
        self,
        topics: str | Iterable[str] = (),
        *,
        pattern: str | None = None,
        on_assigned: Listener | None = None,
        on_revoked: Listener | None = None,
    ) -> None:
        """Read topics, or those whose names match a pattern: the group's members share their partitions.

        Without a group it is all of them. Topics need not be there yet. The listeners are called from polls.
        """
        names = frozenset([topics] if isinstance(topics, str) else topics)
        subscription = Subscription(
            names, re.compile(pattern) if pattern else None, self.config.exclude_internal_topics
        )
        self.unsubscribe()
        self._listeners = on_assigned, on_revoked
        if self._group is None:
            self._membership = AllPartitions(self._logs, subscription)
        else:
            self._membership = GroupShare(self._logs, self._group, self.config, subscription)

    def assign(self, partitions: Iterable[Partition]) -> None:
        """Read these partitions, whatever the rest of the group does."""
        names = [TopicPartition(*name) for name in partitions]
        for name in names:
            self._logs.log(*name)
        self.unsubscribe()
        self._membership = Assigned(names)
        self._refresh()

    def unsubscribe(self) -> None:
        """Read nothing any more; what was handed out is committed."""
        self._check_own()
        failure: Exception | None = None
        try:
            self._commits.write_changed(self._states.values(), self._membership)
        except Exception as error:  # whatever becomes of the commit, the others get the partitions
            failure = error
        if self._membership is not None:
            self._membership.leave()
        self._membership = self._token = None
        self._states.clear()
        self._announced = frozenset()
        if failure is not None:
            raise failure

    def assignment(self) -> set[TopicPartition]:
        """The partitions that this consumer reads now."""
        return set(self._states)

    def poll(self, timeout_ms: float = 0, max_records: int | None = None) -> dict[TopicPartition, list[ConsumerRecord]]:
        """The next records by partition, at most max.poll.records; waits up to a time for the first (-1: for ever).

        Where a partition cannot be read, those that could be before it are returned, and the next poll raises.
        """
        limit = self.config.max_poll_records if max_records is None else max_records
        end = _end(timeout_ms)
        while True:
            self._refresh()
            found = self._collector.collect(limit)
            if found.records or not self._wait(end):
                break
        try:
            return found.hand_out()
        except BaseException:  # an interrupt: nobody has got them
            found.take_back()
            raise

    def __iter__(self) -> Iterator[ConsumerRecord]:
        """Record after record; ends when there has been none for consumer.timeout.ms, and commits then."""
        end = _end(self.config.consumer_timeout_ms)
        while True:
            self._refresh()
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
                    except BaseException:  # an interrupt: perhaps nobody has got it
                        if state.seeks == seeks:
                            state.advance(before)
                        raise
                    if state.seeks != seeks or self.is_closed:
                        break
                else:
                    if records:
                        state.advance(position)
                if records:
                    found, end = True, _end(self.config.consumer_timeout_ms)
                    break
            if not found and not self._wait(end):
                self._commits.write_changed(self._states.values(), self._membership)
                return

    def __next__(self) -> ConsumerRecord:
        if self._loop is None:
            # A generator with a strong reference to its owner would keep it alive until the garbage collector comes.
            self._loop = type(self).__iter__(weakref.proxy(self))
        try:
            return next(self._loop)
        except StopIteration:
            self._loop = None
            raise

    def position(self, partition: Partition) -> int | None:
        """The offset of the next record to be handed out."""
        return self._state(partition).find_position()

    def seek(self, partition: Partition, offset: int) -> None:
        """Go on reading at an offset."""
        if offset < 0:
            raise IllegalStateError(f"offset {offset}, expected 0 or more")
        self._state(partition).seek(offset)

    def seek_to_timestamp(self, timestamp: int, *partitions: Partition) -> None:
        """Go on at the first record of this time (milliseconds) or later, at the end if there is none."""
        for state in self._chosen(partitions):
            found = state.log.offset_for_timestamp(timestamp, self._form.isolation).offset
            state.seek(found if found >= 0 else self._end_offset(state.name))

    def seek_to_beginning(self, *partitions: Partition) -> None:
        """Go back to the first records, of all partitions if none is named."""
        for state in self._chosen(partitions):
            state.seek(state.log.log_start_offset)

    def seek_to_end(self, *partitions: Partition) -> None:
        """Skip what is there, of all partitions if none is named."""
        for state in self._chosen(partitions):
            state.seek(self._end_offset(state.name))

    def pause(self, *partitions: Partition) -> None:
        """Hand out nothing of these partitions until `resume`."""
        for state in self._chosen(partitions):
            state.is_paused = True

    def resume(self, *partitions: Partition) -> None:
        for state in self._chosen(partitions):
            state.is_paused = False

    def paused(self) -> set[TopicPartition]:
        return {state.name for state in self._states.values() if state.is_paused}

    def commit(self, offsets: Mapping[Partition, int | OffsetAndMetadata] | None = None) -> None:
        """Write the group's offsets: those given, or the positions of all partitions. On return they are in the log."""
        self._check_own()
        given = {
            TopicPartition(*name): offset if isinstance(offset, OffsetAndMetadata) else OffsetAndMetadata(offset)
            for name, offset in (offsets or {}).items()
        }
        positions = self._commits.positions(self._states.values()) if offsets is None else given
        self._commits.write(positions, self._membership)

    def committed(self, partition: Partition) -> OffsetAndMetadata | None:
        """What the group has committed for a partition; None if nothing."""
        self._check_own()
        name = TopicPartition(*partition)
        return self._commits.committed([name]).get(name)

    def offsets_for_times(self, times: Mapping[Partition, int]) -> dict[TopicPartition, int | None]:
        """The offset of the first record of a time (milliseconds) or later; None where there is none."""
        found = {}
        for partition, timestamp in times.items():
            offset = self._logs.log(*partition).offset_for_timestamp(timestamp, self._form.isolation).offset
            found[TopicPartition(*partition)] = None if offset < 0 else offset
        return found

    def beginning_offsets(self, partitions: Iterable[Partition]) -> dict[TopicPartition, int]:
        return {TopicPartition(*name): self._logs.log(*name).log_start_offset for name in partitions}

    def end_offsets(self, partitions: Iterable[Partition]) -> dict[TopicPartition, int]:
        """Where what this consumer may see ends."""
        return {TopicPartition(*name): self._end_offset(TopicPartition(*name)) for name in partitions}

    def wakeup(self) -> None:
        """End a wait in `poll` or in a loop, from another thread."""
        self._is_woken = True
        self._idle.notify()

    def close(self) -> None:
        """Commit what was handed out, if that is automatic, and leave the group.

        A close that was interrupted can be called again.
        """
        if self._refusal is not None:
            return
        self.is_closed = True
        self.wakeup()
        self.unsubscribe()

    def disown(self) -> None:
        """In a forked child: refuse every use."""
        self._refusal = f"the consumer cannot be used: {FORKED}"

    def _refresh(self) -> None:
        """Take notice of what changed around the consumer, and commit if it is time."""
        self._check_own()
        if self.is_closed:
            raise IllegalStateError("the consumer is closed")
        if self._membership is None:
            raise IllegalStateError("the consumer reads nothing yet, expected a call of subscribe() or assign() before")
        owned = self._membership.refresh(self._clock.monotonic_ms(), self._revoke)
        if self._token is not self._membership.token:  # another member may have had them meanwhile
            self._states.clear()
            self._announced = frozenset()
            self._token = self._membership.token
        if not self._states.keys() == owned == self._announced:
            self._take(owned)
        if self._commits.is_due:
            self._commits.write_changed(self._states.values(), self._membership)

    def _check_own(self) -> None:
        if self._refusal is not None:
            raise IllegalStateError(self._refusal)

    def _take(self, owned: frozenset[TopicPartition]) -> None:
        """Read these partitions, and no others, and tell the listener of those that are new."""
        for name in self._states.keys() - owned:
            del self._states[name]
        new = owned - self._states.keys()
        committed = self._commits.begin(new)
        for name in sorted(new):
            state = PartitionState(name, self._logs.log(*name), self._form, self.config.reset, self._clock)
            if name in committed:
                state.seek(committed[name])
            self._states[name] = state
        untold = owned - self._announced
        if self._listeners[0] is not None and untold:
            self._listeners[0](set(untold))
        self._announced = owned

    def _revoke(self, names: Set[TopicPartition]) -> None:
        going = [state for name, state in self._states.items() if name in names]
        self._commits.write_changed(going, self._membership)
        if self._listeners[1] is not None and names:
            self._listeners[1](set(names))
        for state in going:
            self._states.pop(state.name, None)
        self._announced -= names

    def _wait(self, end: float | None) -> bool:
        """Whether there is time to look once more; sleeps a little then."""
        left = _LOOK_SECONDS if end is None else min(end - time.monotonic(), _LOOK_SECONDS)
        if left > 0 and not self._idle.wait(lambda: self._is_woken, left):
            return True
        self._is_woken = False
        return False

    def _state(self, partition: Partition) -> PartitionState:
        name = TopicPartition(*partition)
        if name not in self._states and self._membership is not None:
            self._refresh()
        if name not in self._states:
            raise UnknownTopicOrPartitionError(f"partition {name} is not assigned to this consumer")
        return self._states[name]

    def _chosen(self, partitions: tuple[Partition, ...]) -> list[PartitionState]:
        if not partitions:
            self._refresh()
            return list(self._states.values())
        return [self._state(name) for name in partitions]

    def _end_offset(self, name: TopicPartition) -> int:
        return self._logs.log(*name).offset_for_timestamp(SpecialTimestamp.LATEST, self._form.isolation).offset


def _end(timeout_ms: float) -> float | None:
    return None if timeout_ms < 0 else time.monotonic() + timeout_ms / 1000
