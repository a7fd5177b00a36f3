"""Consumers of one group share partitions: none is read twice or left out, whoever comes and goes."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.client.consumer.config import ConsumerConfig
from octavo.client.consumer.consumer import Consumer
from octavo.coordinator.groups.assignors import range_assignor, sticky_assignor
from octavo.coordinator.groups.committed import CommittedOffsets
from octavo.coordinator.groups.offsets import OffsetAndMetadata
from octavo.errors import IllegalStateError, KafkaStorageError
from octavo.format.names import TopicPartition
from tests.client.stores import Store


def partitions(topic: str, *numbers: int) -> set[TopicPartition]:
    return {TopicPartition(topic, number) for number in numbers}


def polled(*consumers: Consumer) -> list[set[TopicPartition]]:
    """What each consumer has after two polls of all: one to give back, one to take."""
    for consumer in (*consumers, *consumers):
        consumer.poll()
    return [consumer.assignment() for consumer in consumers]


def test_members_share_partitions(store: Store) -> None:
    store.logs.create_topic("t", 4)
    first = store.logs.consumer("t", group="g")
    assert polled(first) == [partitions("t", 0, 1, 2, 3)]
    second = store.logs.consumer("t", group="g")
    other = store.logs.consumer("t", group="another")
    assert polled(first, second, other) == [
        partitions("t", 0, 1), partitions("t", 2, 3), partitions("t", 0, 1, 2, 3)
    ]  # fmt: skip
    third = store.logs.consumer("t", group="g")
    assert polled(first, second, third) == [partitions("t", 0, 1), partitions("t", 2), partitions("t", 3)]
    first.close()
    assert polled(second, third) == [partitions("t", 0, 1), partitions("t", 2, 3)]


def test_a_partition_is_taken_only_after_it_was_given_back(store: Store) -> None:
    """The new owner continues where the old one was."""
    store.logs.create_topic("t", 2)
    with store.logs.producer() as producer:
        for number in range(10):
            producer.send("t", b"%d" % number, partition=number % 2)
    first = store.logs.consumer(group="g", max_poll_records=2)
    events = listened(first, "t")
    read = [record.value for _ in range(2) for records in first.poll().values() for record in records]
    second = store.logs.consumer("t", group="g")
    assert second.poll() == {} and second.assignment() == set()
    read += [record.value for records in first.poll().values() for record in records]
    assert first.assignment() == partitions("t", 0)
    read += [record.value for consumer in (second, first, second, first) for record in consumer]
    assert sorted(value or b"" for value in read) == [b"%d" % number for number in range(10)]
    assert second.assignment() == partitions("t", 1)
    assert events == [("+", partitions("t", 0, 1)), ("-", partitions("t", 1))]


def test_a_member_that_does_not_poll_loses_its_partitions(store: Store) -> None:
    store.logs.create_topic("t", 2)
    slow = store.logs.consumer("t", group="g", max_poll_interval_ms=1000)
    polled(slow)
    quick = store.logs.consumer("t", group="g")
    quick.poll()
    assert quick.assignment() == set()
    store.world.clock.advance(1001)
    quick.poll()
    assert quick.assignment() == partitions("t", 0, 1)
    with pytest.raises(IllegalStateError, match="the consumer is not a member of its group"):
        slow.commit()
    slow.poll()
    assert slow.assignment() == set()
    assert polled(quick, slow) == [partitions("t", 0), partitions("t", 1)]


def listened(consumer: Consumer, *topics: str) -> list[tuple[str, set[TopicPartition]]]:
    """Subscribe a consumer; returns the list of calls of its listeners."""
    events: list[tuple[str, set[TopicPartition]]] = []
    consumer.subscribe(
        topics,
        on_assigned=lambda names: events.append(("+", names)),
        on_revoked=lambda names: events.append(("-", names)),
    )
    return events


def test_a_member_that_lost_its_partitions_calls_its_listener(store: Store) -> None:
    """Before it joins again: the offsets that it had cannot be committed any more."""
    store.logs.create_topic("t", 2)
    slow = store.logs.consumer(group="g", max_poll_interval_ms=1000)
    events, problems = [], []

    def lose(names: set[TopicPartition]) -> None:
        events.append(("-", names))
        try:
            slow.commit({("t", 0): 0})
        except IllegalStateError as error:
            problems.append(str(error))

    slow.subscribe("t", on_assigned=lambda names: events.append(("+", names)), on_revoked=lose)
    slow.poll()
    quick = store.logs.consumer("t", group="g")
    quick.poll()
    store.world.clock.advance(1001)
    quick.poll()
    slow.poll()
    assert events == [("+", partitions("t", 0, 1)), ("-", partitions("t", 0, 1))]
    assert len(problems) == 1 and problems[0].startswith("the consumer is not a member of its group")
    polled(quick, slow)
    assert events[2:] == [("+", partitions("t", 1))]


def test_a_lone_member_that_was_evicted_gets_its_partitions_again(store: Store) -> None:
    store.logs.create_topic("t", 1)
    consumer = store.logs.consumer(group="g", max_poll_interval_ms=1000)
    events = listened(consumer, "t")
    consumer.poll()
    store.world.clock.advance(1001)
    consumer.poll()
    assert [what for what, _ in events] == ["+", "-", "+"]


@pytest.mark.parametrize("group", ["g", None])
@pytest.mark.parametrize(
    "stop",
    [
        lambda consumer: consumer.subscribe("u"),
        lambda consumer: consumer.assign([("u", 0)]),
        lambda consumer: consumer.unsubscribe(),
        lambda consumer: consumer.close(),
    ],
    ids=["subscribe", "assign", "unsubscribe", "close"],
)
def test_the_listener_of_an_earlier_subscription_is_called(
    store: Store, stop: Callable[[Consumer], object], group: str | None
) -> None:
    """Once, and while the consumer still has the partitions."""
    store.logs.create_topic("t", 2)
    store.logs.create_topic("u", 1)
    consumer = store.logs.consumer(group=group)
    calls = []
    consumer.subscribe("t", on_revoked=lambda names: calls.append((names, consumer.assignment())))
    consumer.poll()
    stop(consumer)
    assert calls == [(partitions("t", 0, 1), partitions("t", 0, 1))]
    consumer.close()
    assert len(calls) == 1


@pytest.mark.parametrize("group", ["g", None])
def test_the_partitions_of_a_deleted_topic_are_revoked(store: Store, group: str | None) -> None:
    for topic in ("t", "u"):
        store.logs.create_topic(topic, 1)
    consumer = store.logs.consumer(group=group)
    events = listened(consumer, "t", "u")
    consumer.poll()
    store.logs.delete_topic("t")
    assert polled(consumer) == [partitions("u", 0)]
    assert events == [("+", partitions("t", 0) | partitions("u", 0)), ("-", partitions("t", 0))]


def test_a_listener_that_raises_or_closes_stops_nobody(store: Store) -> None:
    store.logs.create_topic("t", 1)
    first = store.logs.consumer(group="g")

    def close(_: set[TopicPartition]) -> None:
        first.close()
        raise ValueError("a listener that failed")

    first.subscribe("t", on_revoked=close)
    second = store.logs.consumer("t", group="g")
    assert polled(first, second) == [partitions("t", 0), set()]
    with pytest.raises(ValueError, match="a listener that failed"):
        first.close()
    assert polled(second) == [partitions("t", 0)]


def test_new_partitions_are_shared_too(store: Store) -> None:
    store.logs.create_topic("t", 1)
    members = [store.logs.consumer("t", group="g") for _ in range(2)]
    assert polled(*members) == [partitions("t", 0), set()]
    store.logs.create_partitions("t", 4)
    assert polled(*members) == [partitions("t", 0, 1), partitions("t", 2, 3)]


def test_a_consumer_that_is_forgotten_leaves_its_group(store: Store) -> None:
    """It commits nothing, so the records it had are returned once more."""
    store.logs.create_topic("t", 2)
    with store.logs.producer() as producer:
        for number in range(4):
            producer.send("t", b"%d" % number, partition=number % 2)
    read = []
    for _ in range(2):
        for record in store.logs.consumer("t", group="g"):
            read.append(record.value)
            if len(read) == 3:
                break
    assert sorted(value or b"" for value in read[3:]) == [b"0", b"1", b"2", b"3"]
    assert len(store.logs.group_coordinator.consumers.describe("g")["members"]) == 1


@pytest.mark.parametrize("use", [next, lambda consumer: consumer.poll()], ids=["next", "poll"])
def test_forgetting_a_consumer_writes_and_locks_nothing(store: Store, use: Callable[[Consumer], object]) -> None:
    """The garbage collector may run inside any lock, so a lock or an append in `__del__` could deadlock."""
    store.logs.create_topic("t", 1)
    with store.logs.producer() as producer:
        producer.send("t", b"1")
    members = store.logs.group_coordinator.local
    groups = members._consumers._store
    gc.disable()
    try:
        consumer = store.logs.consumer("t", group="g")
        use(consumer)
        gone = weakref.ref(consumer)
        groups.lock = NoLock()  # type: ignore[assignment]
        del consumer
    finally:
        gc.enable()
    assert gone() is None and len(members._leaving) == 1
    groups.lock = threading.RLock()
    assert "__consumer_offsets" not in store.logs.topics  # a commit would have created it
    another = store.logs.consumer("t", group="g")
    assert polled(another) == [partitions("t", 0)] and not members._leaving


class NoLock:
    """A lock that must not be taken."""

    def __enter__(self) -> None:
        raise AssertionError("a lock is taken")

    def __exit__(self, *_: object) -> None: ...


def test_deleting_a_topic_leaves_the_offsets_of_the_others(store: Store) -> None:
    for topic in ("t", "u"):
        store.logs.create_topic(topic, 1)
        with store.logs.producer() as producer:
            producer.send(topic, b"1")
    consumer = store.logs.consumer(["t", "u"], group="g")
    by_hand = store.logs.consumer(group="h")
    by_hand.assign([("t", 0), ("u", 0)])
    assert len(consumer.poll()) == len(by_hand.poll()) == 2
    store.logs.delete_topic("t")
    consumer.commit()
    by_hand.commit()
    for group in ("g", "h"):
        watcher = store.logs.consumer(group=group)
        assert watcher.committed(("u", 0)) == OffsetAndMetadata(1) and watcher.committed(("t", 0)) is None
    assert polled(consumer) == [partitions("u", 0)]
    store.logs.delete_topic("u")
    consumer.close()
    by_hand.close()
    assert store.logs.consumer("t", group="g").poll() == {}


def test_the_partitions_on_one_disk_of_several_are_all_read(store: Store) -> None:
    """Only partitions 1 and 4 exist: neither the gap nor the missing 0 ends the list."""
    store.logs.create_topic("t", [1, 4])
    first = store.logs.consumer("t", group="g")
    assert polled(first) == [partitions("t", 1, 4)]
    second, alone = store.logs.consumer("t", group="g"), store.logs.consumer("t")
    assert polled(first, second, alone) == [partitions("t", 1), partitions("t", 4), partitions("t", 1, 4)]


def test_a_member_leaves_its_group_though_its_commit_fails(store: Store) -> None:
    store.logs.create_topic("t", 1)
    with store.logs.producer() as producer:
        producer.send("t", b"1")
    first, second = (store.logs.consumer("t", group="g") for _ in range(2))
    assert polled(first, second) == [partitions("t", 0), set()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CommittedOffsets, "commit", failing)
        with pytest.raises(KafkaStorageError):
            first.close()
    assert polled(second) == [partitions("t", 0)]


def failing(*_: object) -> None:
    raise KafkaStorageError("a disk that failed")


@given(st.integers(1, 6), st.integers(0, 20), st.integers(1, 6))
def test_the_sticky_assignor_is_even_and_moves_little(before: int, count: int, after: int) -> None:
    topics = frozenset("t")
    first = sticky_assignor({str(member): topics for member in range(before)}, {"t": range(count)}, {})
    second = sticky_assignor({str(member): topics for member in range(after)}, {"t": range(count)}, first)
    sizes = [len(names) for names in second.values()]
    assert max(sizes) - min(sizes) <= 1
    moved = sum(len(set(names) - set(first.get(member, ()))) for member, names in second.items())
    gone = sum(len(names) for member, names in first.items() if int(member) >= after)
    new_members = sum(len(names) for member, names in second.items() if int(member) >= before)
    assert moved == max(gone, new_members)


def test_the_range_assignor_gives_the_first_members_more() -> None:
    topics = frozenset(["t", "u"])
    assigned = range_assignor({"a": topics, "b": topics, "c": frozenset("t")}, {"t": range(4), "u": range(3)}, {})
    assert assigned == {
        "a": [("t", 0), ("t", 1), ("u", 0), ("u", 1)],
        "b": [("t", 2), ("u", 2)],
        "c": [("t", 3)],
    }


@pytest.mark.parametrize(
    ("given_name", "short"),
    [
        ("org.apache.kafka.clients.consumer.RangeAssignor", "range"),
        ("class org.apache.kafka.clients.consumer.CooperativeStickyAssignor", "cooperative-sticky"),
        ("RoundRobinAssignor", "roundrobin"),
        ("sticky", "sticky"),
    ],
)
def test_assignors_by_their_names(given_name: str, short: str) -> None:
    assert ConsumerConfig.of({"partition.assignment.strategy": given_name}).assignor == short
