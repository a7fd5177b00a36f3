"""kill -9: what was acknowledged to idempotent producers is there once, at the offsets that they were told, and
no committed offset is lost."""

from __future__ import annotations

import os
import threading
from collections import Counter
from functools import partial
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

import octavo
from tests.broker.served import Served

KILLS = int(os.environ.get("OCTAVO_KILLS", "5"))
PARTITIONS = 3
_SECONDS = 60.0


def test_what_was_acknowledged_is_there_once(tmp_path: Path) -> None:
    served = Served(tmp_path / "logs", configs={"num.partitions": str(PARTITIONS)})
    acknowledged: dict[bytes, tuple[int, int]] = {}

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is None:
            acknowledged[message.value() or b""] = (message.partition() or 0, message.offset() or 0)

    def produce(name: int, is_done: threading.Event) -> None:
        producer = Producer({
            "bootstrap.servers": served.bootstrap_servers, "enable.idempotence": True, "linger.ms": 2,
            "batch.size": 2000, "message.timeout.ms": 120_000, "reconnect.backoff.max.ms": 100, "retry.backoff.ms": 50,
        })  # fmt: skip
        number = 0
        while not is_done.is_set():
            producer.produce("t", b"%d-%d" % (name, number), on_delivery=delivered)
            producer.poll(0.001)
            number += 1
        assert producer.flush(_SECONDS) == 0

    served.kill_under([partial(produce, name) for name in range(2)], KILLS, 7, between=(0.05, 0.5))
    table = octavo.scan(tmp_path / "logs", topics=["t"]).to_table().to_pylist()
    counts = Counter(row["value"] for row in table)
    assert not [value for value, count in counts.items() if count > 1]
    places = {row["value"]: (row["partition"], row["offset"]) for row in table}
    assert {value: places.get(value) for value in acknowledged} == acknowledged
    assert len(acknowledged) > KILLS * 10


def test_what_was_committed_is_there(tmp_path: Path) -> None:
    served = Served(tmp_path / "logs", configs={"num.partitions": "1", "offsets.topic.num.partitions": "2"})
    producer = Producer({"bootstrap.servers": served.bootstrap_servers})
    producer.produce("t", b"0")
    assert producer.flush(_SECONDS) == 0
    committed: dict[str, int] = {}

    def commit(group: str, is_done: threading.Event) -> None:
        consumer = Consumer({
            "bootstrap.servers": served.bootstrap_servers, "group.id": group, "reconnect.backoff.max.ms": 100,
        })  # fmt: skip
        offset = 0
        while not is_done.is_set():
            offset += 1
            try:
                consumer.commit(offsets=[TopicPartition("t", 0, offset)], asynchronous=False)
            except KafkaException:
                continue  # whether it was written is unknown
            committed[group] = offset
        consumer.close()

    served.kill_under([partial(commit, f"g{number}") for number in range(2)], KILLS, 7, between=(0.2, 0.6))
    with octavo.LogDir(tmp_path / "logs") as logs:
        offsets, place = logs.group_coordinator.offsets, octavo.TopicPartition("t", 0)
        found = {group: offsets.committed(group)[place].offset for group in committed}
    assert committed and all(found[group] >= offset for group, offset in committed.items())
