"""Groups of real clients: they share partitions, rebalance, commit, and go on where they were."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

import octavo
from kafka import KafkaConsumer
from octavo.broker.broker import Broker
from octavo.coordinator.groups.classic.group import ClassicGroup

PARTITIONS, RECORDS = 4, 40
_SECONDS = 30.0
_POLLS = 600


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Broker]:
    with octavo.LogDir(tmp_path / "logs", configs={"group.initial.rebalance.delay.ms": 0}, create=True) as logs:
        logs.create_topic("t", PARTITIONS)
        with logs.producer() as producer:
            for number in range(RECORDS):
                producer.send("t", b"%d" % number, partition=number % PARTITIONS)
        with Broker(logs) as broker:
            yield broker


def subscribed(broker: Broker, group: str, **configs: Any) -> Consumer:
    consumer = Consumer({
        "bootstrap.servers": broker.bootstrap_servers, "group.id": group, "auto.offset.reset": "earliest",
        "enable.auto.commit": False, "session.timeout.ms": 6000, "heartbeat.interval.ms": 300, **configs,
    })  # fmt: skip
    consumer.subscribe(["t"])
    return consumer


def shared(*consumers: Consumer) -> list[set[int]]:
    """The partitions of each consumer, once every partition has an owner and every consumer has a partition."""
    for _ in range(_POLLS):
        for consumer in consumers:
            consumer.poll(0.05)
        found = [{one.partition for one in consumer.assignment()} for consumer in consumers]
        if all(found) and sorted(number for numbers in found for number in numbers) == list(range(PARTITIONS)):
            return found
    raise AssertionError(f"not shared: {found}")


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_members_come_and_go(served: Broker, strategy: str) -> None:
    first, second = (subscribed(served, "g", **{"partition.assignment.strategy": strategy}) for _ in range(2))
    assert sorted(map(len, shared(first, second))) == [2, 2]
    row = served.logs.group_coordinator.admin.describe("g")
    assert row is not None and (row["groupState"], row["protocolData"]) == ("Stable", strategy)
    first.close()
    assert shared(second) == [set(range(PARTITIONS))]
    second.close()
    row = served.logs.group_coordinator.admin.describe("g")
    assert row is not None and row["groupState"] == "Empty"


def test_a_group_goes_on_where_it_was(served: Broker) -> None:
    found: list[bytes] = []
    for count in (15, RECORDS):
        consumer = subscribed(served, "g")
        while len(found) < count:
            got = consumer.consume(count - len(found), _SECONDS)
            assert got, f"{len(found)} of {count} records"
            found += [message.value() or b"" for message in got]
        consumer.commit(asynchronous=False)
        consumer.close()
    assert sorted(found, key=int) == [b"%d" % number for number in range(RECORDS)]


def test_a_static_member_that_restarts_gets_its_partitions_back(served: Broker) -> None:
    first, second = (subscribed(served, "g", **{"group.instance.id": name}) for name in "ab")
    before, generation = shared(first, second), generation_of(served)
    first.close()  # static members do not leave
    first = subscribed(served, "g", **{"group.instance.id": "a"})
    assert shared(first, second) == before
    assert generation_of(served) == generation  # without a rebalance
    row = served.logs.group_coordinator.admin.describe("g")
    assert {member["groupInstanceId"] for member in row["members"]} == {"a", "b"}
    first.close()
    second.close()


def generation_of(broker: Broker) -> int:
    with broker.logs.group_coordinator.admin._store.using("g") as partition:
        group = partition.groups["g"]
        assert isinstance(group, ClassicGroup)
        return group.generation


def test_clients_in_this_process_see_what_others_commit(served: Broker) -> None:
    remote = subscribed(served, "g")
    remote.commit(offsets=[TopicPartition("t", 1, 7)], asynchronous=False)
    shared(remote)
    with served.logs.consumer(group="g") as consumer:
        committed = consumer.committed(("t", 1))
        assert committed is not None and committed.offset == 7
    remote.close()


def test_groups_are_listed_described_and_deleted(served: Broker) -> None:
    consumer = subscribed(served, "g")
    shared(consumer)
    consumer.commit(offsets=[TopicPartition("t", 0, 3)], asynchronous=False)
    admin = AdminClient({"bootstrap.servers": served.bootstrap_servers})
    listed = admin.list_consumer_groups().result(_SECONDS)
    assert [group.group_id for group in listed.valid] == ["g"] and not listed.errors
    described = admin.describe_consumer_groups(["g"])["g"].result(_SECONDS)
    [member] = described.members
    assert {one.partition for one in member.assignment.topic_partitions} == set(range(PARTITIONS))
    consumer.close()
    deleted = admin.delete_consumer_groups(["g"])["g"]
    assert deleted.result(_SECONDS) is None
    assert served.logs.group_coordinator.admin.list() == []


def test_a_group_of_kafka_python_goes_on_where_it_was(served: Broker) -> None:
    found: list[bytes] = []
    for most in (10, RECORDS):
        consumer = KafkaConsumer(
            "t", bootstrap_servers=served.bootstrap_servers, group_id="g", auto_offset_reset="earliest",
            enable_auto_commit=False, max_poll_records=most,
        )  # fmt: skip
        while len(found) < most:
            polled = consumer.poll(timeout_ms=_SECONDS * 1000)
            assert polled, f"{len(found)} of {most} records"
            found += [record.value for records in polled.values() for record in records]
        consumer.commit()
        consumer.close()
    assert sorted(found, key=int) == [b"%d" % number for number in range(RECORDS)]


def test_a_group_of_aiokafka_goes_on_where_it_was(served: Broker) -> None:
    async def consumed(most: int, found: list[bytes]) -> None:
        async with AIOKafkaConsumer(
            "t", bootstrap_servers=served.bootstrap_servers, group_id="g", auto_offset_reset="earliest",
            enable_auto_commit=False,
        ) as consumer:  # fmt: skip
            while len(found) < most:
                polled = await consumer.getmany(timeout_ms=_SECONDS * 1000, max_records=most - len(found))
                assert polled, f"{len(found)} of {most} records"
                found += [record.value for records in polled.values() for record in records]
            await consumer.commit()

    found: list[bytes] = []
    for most in (10, RECORDS):
        asyncio.run(consumed(most, found))
    assert sorted(found, key=int) == [b"%d" % number for number in range(RECORDS)]
