"""Transactions of librdkafka, kafka-python and aiokafka: what is committed is seen, what is aborted is not."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka import TopicPartition as AioTopicPartition
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from kafka.structs import OffsetAndMetadata

import octavo
from kafka import KafkaProducer
from kafka import TopicPartition as PythonTopicPartition
from octavo.broker.broker import Broker
from tests.broker.librdkafka import SECONDS, Servers, consume


@pytest.fixture(autouse=True)
def _topics(logs: octavo.LogDir) -> None:
    for topic in ("t", "from"):
        logs.create_topic(topic, 1)


@pytest.fixture
def servers(broker: Broker) -> Servers:
    return {"bootstrap.servers": broker.bootstrap_servers}


def begun(servers: Servers, name: str = "x") -> Producer:
    producer = Producer({**servers, "transactional.id": name})
    producer.init_transactions(SECONDS)
    producer.begin_transaction()
    return producer


def committed(servers: Servers, count: int) -> list[bytes]:
    """The first records of "t" that a `read_committed` consumer gets."""
    return consume(servers, "t", 1, count, **{"isolation.level": "read_committed"})


def test_librdkafka(servers: Servers, logs: octavo.LogDir) -> None:
    producer = begun(servers)
    for number in range(10):
        producer.produce("t", b"%d" % number)
        producer.flush(SECONDS)
        if number % 3 == 2:
            producer.abort_transaction(SECONDS)
        else:
            producer.commit_transaction(SECONDS)
        producer.begin_transaction()
    producer.produce("t", b"open")
    producer.flush(SECONDS)
    expected = [b"0", b"1", b"3", b"4", b"6", b"7", b"9"]
    assert committed(servers, len(expected)) == expected
    assert [record.value for record in logs.consumer("t", isolation_level="read_committed")] == expected
    producer.abort_transaction(SECONDS)


def test_a_later_producer_fences_the_earlier_one(servers: Servers) -> None:
    first = begun(servers)
    first.produce("t", b"lost")
    first.flush(SECONDS)
    second = begun(servers)
    second.produce("t", b"kept")
    second.commit_transaction(SECONDS)
    with pytest.raises(KafkaException) as failure:
        first.commit_transaction(SECONDS)
    assert failure.value.args[0].code() == KafkaError._FENCED
    assert committed(servers, 1) == [b"kept"]


def test_consume_transform_produce(servers: Servers, logs: octavo.LogDir) -> None:
    with logs.producer() as source:
        for number in range(20):
            source.send("from", b"%d" % number).result(SECONDS)
    group = {"group.id": "copy", "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = Consumer({**servers, **group})
    consumer.subscribe(["from"])
    producer = begun(servers)
    for attempt in range(4):
        values = [message.value() or b"" for message in consumer.consume(5, SECONDS)]
        assert len(values) == 5
        for value in values:
            producer.produce("t", value)
        offsets = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), SECONDS)
        if attempt == 1:
            producer.abort_transaction(SECONDS)
            consumer.seek(TopicPartition("from", 0, 5))
        else:
            producer.commit_transaction(SECONDS)
        producer.begin_transaction()
    assert committed(servers, 15) == [b"%d" % number for number in range(15)]
    assert logs.consumer(group="copy").committed(("from", 0)) == (15, "", 0)
    consumer.close()


def test_kafka_python(servers: Servers) -> None:
    producer = KafkaProducer(bootstrap_servers=servers["bootstrap.servers"], transactional_id="x")
    producer.init_transactions()
    for number in range(6):
        producer.begin_transaction()
        producer.send("t", b"%d" % number).get(SECONDS)
        producer.send_offsets_to_transaction({PythonTopicPartition("from", 0): OffsetAndMetadata(number, "", -1)}, "g")
        producer.abort_transaction() if number % 2 else producer.commit_transaction()
    producer.close()
    assert committed(servers, 3) == [b"0", b"2", b"4"]


def test_aiokafka(servers: Servers, logs: octavo.LogDir) -> None:
    async def produce() -> None:
        address = servers["bootstrap.servers"]
        async with AIOKafkaProducer(bootstrap_servers=address, transactional_id="x") as producer:
            for number in range(6):
                await producer.begin_transaction()
                await producer.send_and_wait("t", b"%d" % number)
                await producer.send_offsets_to_transaction({AioTopicPartition("from", 0): number}, "g")
                await (producer.abort_transaction() if number % 2 else producer.commit_transaction())

    asyncio.run(produce())
    assert committed(servers, 3) == [b"0", b"2", b"4"]
    found = logs.consumer(group="g").committed(("from", 0))
    assert found is not None and found.offset == 4
