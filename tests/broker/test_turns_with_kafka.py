"""A directory that a real Kafka 4.3.1 and our broker serve in turns, after clean stops and after kill -9."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from octavo.broker.broker import Broker
from tests.broker.librdkafka import SECONDS, Servers, consume, produce, take
from tests.interop.broker import Broker as KafkaBroker

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("broker")]

COUNT = 200


def values(turn: int) -> list[bytes]:
    return [b"%d-%d" % (turn, number) for number in range(COUNT)]


def work(servers: Servers, turn: int) -> None:
    """Produce, and consume what this turn and all before it produced; a group gets only what it does not have yet."""
    produce(servers, "t", values(turn), **{"enable.idempotence": True})
    expected = [value for earlier in range(turn + 1) for value in values(earlier)]
    assert consume(servers, "t", 1, len(expected)) == expected
    assert read_as_group(servers, COUNT) == values(turn)


def read_as_group(servers: Servers, count: int) -> list[bytes]:
    """Subscribe, read, commit."""
    consumer = Consumer({
        **servers, "group.id": "readers", "group.instance.id": "reader", "auto.offset.reset": "earliest",
        "enable.auto.commit": False, "session.timeout.ms": 6000,
    })  # fmt: skip
    consumer.subscribe(["t"])
    read = take(consumer, count)
    consumer.commit(asynchronous=False)
    consumer.close()
    return read


@pytest.mark.parametrize("is_killed", [False, True])
def test_turns(tmp_path: Path, is_killed: bool) -> None:
    real = KafkaBroker(tmp_path)
    real.start()
    admin = AdminClient({"bootstrap.servers": real.bootstrap_servers})
    (created,) = admin.create_topics([NewTopic("t", 1, 1)]).values()
    created.result(SECONDS)
    for turn in range(0, 4, 2):
        work({"bootstrap.servers": real.bootstrap_servers}, turn)
        if is_killed:
            real.kill()
        else:
            real.stop()
        with Broker(real.log_dir) as ours:
            work({"bootstrap.servers": ours.bootstrap_servers}, turn + 1)
        real.start()
    work({"bootstrap.servers": real.bootstrap_servers}, 4)
    real.stop()
