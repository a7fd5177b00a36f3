"""kill -9 under idempotent producers: what was acknowledged is there once, and in order."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from pathlib import Path

from confluent_kafka import KafkaError, Message, Producer

import octavo
from tests.broker.served import Served

KILLS = int(os.environ.get("OCTAVO_KILLS", "5"))
PARTITIONS = 3
_SECONDS = 60.0


def test_what_was_acknowledged_is_there_once(tmp_path: Path) -> None:
    served = Served(tmp_path / "logs", configs={"num.partitions": str(PARTITIONS)})
    acknowledged: dict[bytes, tuple[int, int]] = {}
    is_done = threading.Event()

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is None:
            acknowledged[message.value() or b""] = (message.partition() or 0, message.offset() or 0)

    def produce(name: int) -> None:
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

    threads = [threading.Thread(target=produce, args=(name,)) for name in range(2)]
    for thread in threads:
        thread.start()
    choose = random.Random(7)
    for _ in range(KILLS):
        time.sleep(choose.uniform(0.05, 0.5))
        served.end(signal.SIGKILL)
        served.start()
    time.sleep(0.5)
    is_done.set()
    for thread in threads:
        thread.join()
    served.end(signal.SIGTERM)
    table = octavo.scan(tmp_path / "logs", topics=["t"]).to_table().to_pylist()
    counts = Counter(row["value"] for row in table)
    assert not [value for value, count in counts.items() if count > 1]
    places = {row["value"]: (row["partition"], row["offset"]) for row in table}
    assert {value: places.get(value) for value in acknowledged} == acknowledged
    assert len(acknowledged) > KILLS * 10
