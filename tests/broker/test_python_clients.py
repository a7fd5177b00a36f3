"""kafka-python and aiokafka: produce, consume by assignment, administration."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioTopicPartition
from kafka.admin import NewTopic

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from octavo.broker.broker import Broker

VALUES = [b"%d" % number for number in range(1000)]
_MILLISECONDS = 20_000


@pytest.mark.parametrize("codec", [None, "gzip", "zstd"])
def test_kafka_python(broker: Broker, codec: str | None) -> None:
    servers = {"bootstrap_servers": broker.bootstrap_servers}
    admin, topic_partition = KafkaAdminClient(**servers), TopicPartition("t", 0)
    admin.create_topics([NewTopic("t", 2, 1)])
    producer = KafkaProducer(**servers, compression_type=codec)
    sent = [producer.send("t", value, partition=0) for value in VALUES]
    producer.flush()
    assert [future.get(20).offset for future in sent] == list(range(len(VALUES)))
    consumer = KafkaConsumer(**servers, auto_offset_reset="earliest", enable_auto_commit=False)
    consumer.assign([topic_partition])
    found: list[bytes] = []
    while len(found) < len(VALUES):
        polled = consumer.poll(_MILLISECONDS)
        assert polled, f"{len(found)} of {len(VALUES)} records"
        found += [record.value for records in polled.values() for record in records]
    assert found == VALUES
    assert consumer.end_offsets([topic_partition]) == {topic_partition: len(VALUES)}
    admin.delete_records({topic_partition: 10})
    assert consumer.beginning_offsets([topic_partition]) == {topic_partition: 10}
    admin.delete_topics(["t"])
    assert "t" not in broker.logs.topics
    for client in (consumer, producer, admin):
        client.close()


def test_aiokafka(broker: Broker) -> None:
    async def produce_and_consume() -> list[bytes]:
        async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, enable_idempotence=True) as producer:
            sent = [await producer.send("t", value) for value in VALUES]
            assert [(await future).offset for future in sent] == list(range(len(VALUES)))
        found: list[bytes] = []
        async with AIOKafkaConsumer(bootstrap_servers=broker.bootstrap_servers) as consumer:
            consumer.assign([AioTopicPartition("t", 0)])
            await consumer.seek_to_beginning()
            while len(found) < len(VALUES):
                polled = await consumer.getmany(timeout_ms=_MILLISECONDS)
                assert polled, f"{len(found)} of {len(VALUES)} records"
                found += [record.value for records in polled.values() for record in records]
        return found

    assert asyncio.run(produce_and_consume()) == VALUES
