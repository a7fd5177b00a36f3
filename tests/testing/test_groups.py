"""Consumer groups of real clients, with the broker for tests."""

from __future__ import annotations

import asyncio

from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer

import octavo
from kafka import KafkaConsumer
from octavo.testing import Kafka

VALUES = [b"a", b"b", b"c"]


def subscribed(kafka: Kafka, topic: str, **configs: object) -> Consumer:
    base = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "billing", "auto.offset.reset": "earliest"}
    consumer = Consumer({**base, "enable.auto.commit": False, **configs})
    consumer.subscribe([topic])
    return consumer


def consumed(consumer: Consumer, count: int) -> list[bytes | None]:
    found: list[bytes | None] = []
    while len(found) < count:
        message = consumer.poll(20)
        assert message is not None and message.error() is None
        found.append(message.value())
    return found


def test_a_group_of_confluent_kafka_reads_and_commits(kafka: Kafka) -> None:
    kafka.produce("orders", *VALUES)
    consumer = subscribed(kafka, "orders", **{"client.id": "till"})
    assert consumed(consumer, 3) == VALUES
    consumer.commit(asynchronous=False)
    group = kafka.groups()["billing"]
    assert (group.state, group.lag) == ("Stable", 0)
    assert group.offsets == {octavo.TopicPartition("orders", 0): 3}
    (member,) = group.members
    assert (member.client_id, member.assignment) == ("till", ("orders-0",))
    consumer.close()
    assert kafka.groups()["billing"].members == ()


def test_a_group_of_kafka_python_reads_and_commits(kafka: Kafka) -> None:
    kafka.produce("orders", *VALUES)
    consumer = KafkaConsumer(
        "orders", bootstrap_servers=kafka.bootstrap_servers, group_id="billing", auto_offset_reset="earliest"
    )
    assert [next(consumer).value for _ in VALUES] == VALUES
    consumer.close()
    assert kafka.groups()["billing"].offsets == {octavo.TopicPartition("orders", 0): 3}


def test_a_group_of_aiokafka_reads_and_commits(kafka: Kafka) -> None:
    kafka.produce("orders", *VALUES)

    async def run() -> list[bytes]:
        configs = {"group_id": "billing", "auto_offset_reset": "earliest"}
        async with AIOKafkaConsumer("orders", bootstrap_servers=kafka.bootstrap_servers, **configs) as consumer:
            return [(await consumer.getone()).value for _ in VALUES]

    assert asyncio.run(run()) == VALUES
    assert kafka.groups()["billing"].offsets == {octavo.TopicPartition("orders", 0): 3}


def test_a_member_that_is_kicked_out_comes_back(kafka: Kafka) -> None:
    kafka.produce("orders", *VALUES)
    consumer = subscribed(kafka, "orders", **{"heartbeat.interval.ms": 100})
    assert consumed(consumer, 3) == VALUES
    (before,) = kafka.groups()["billing"].members
    assert kafka.faults.kick("billing") == 1
    assert kafka.groups()["billing"].members == ()
    assert consumed(consumer, 3) == VALUES  # nothing was committed
    (after,) = kafka.groups()["billing"].members
    assert after.member_id != before.member_id
    consumer.close()
    assert kafka.faults.kick("billing") == 0


def test_a_session_ends_when_its_time_has_passed(kafka: Kafka) -> None:
    kafka.produce("orders", *VALUES)
    consumer = subscribed(kafka, "orders", **{"session.timeout.ms": 45_000})
    assert consumed(consumer, 3) == VALUES
    kafka.clock.advance(seconds=30)
    assert len(kafka.groups()["billing"].members) == 1
    kafka.clock.advance(seconds=60)
    assert kafka.groups()["billing"].members == ()
    consumer.close()


def test_a_failing_coordinator_is_asked_again(kafka: Kafka) -> None:
    kafka.produce("orders", *VALUES)
    for api in ("FindCoordinator", "JoinGroup", "SyncGroup"):
        kafka.faults.fail(api, "NOT_COORDINATOR", group="billing")
    consumer = subscribed(kafka, "orders", **{"retry.backoff.ms": 1})
    assert consumed(consumer, 3) == VALUES
    consumer.close()
    assert kafka.faults.is_empty
