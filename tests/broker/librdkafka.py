"""Produces and consumes through librdkafka."""

from __future__ import annotations

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

Servers = dict[str, str | int | float | bool]
SECONDS = 20.0


def produce(servers: Servers, topic: str, values: list[bytes], **configs: object) -> list[tuple[int, int]]:
    """Produce values; returns where each one is, as acknowledged by the broker."""
    places: dict[bytes, tuple[int, int]] = {}

    def delivered(error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        places[message.value() or b""] = (message.partition() or 0, message.offset() or 0)

    producer = Producer({**servers, **configs})
    for value in values:
        producer.produce(topic, value, on_delivery=delivered)
    assert producer.flush(SECONDS) == 0
    return [places[value] for value in values]


def consume(servers: Servers, topic: str, partitions: int, count: int, **configs: object) -> list[bytes]:
    consumer = Consumer({**servers, "group.id": "g", "enable.auto.commit": False, **configs})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
    values = take(consumer, count)
    consumer.close()
    return values


def take(consumer: Consumer, count: int) -> list[bytes]:
    """The next values that a consumer gets."""
    values: list[bytes] = []
    while len(values) < count:
        got = consumer.consume(count - len(values), SECONDS)
        assert got, f"{len(values)} of {count} records"
        assert not [message.error() for message in got if message.error()]
        values += [message.value() or b"" for message in got]
    return values
