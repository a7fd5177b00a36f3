"""Many threads on one directory: nothing is lost or duplicated, and each producer's records keep their order."""

from __future__ import annotations

import random
import threading
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import octavo
from octavo.client.consumer.consumer import Consumer
from octavo.coordinator.transactions.coordinator import TransactionCoordinator
from octavo.scanner.reading.records import ConsumerRecord

PRODUCERS, READERS, RECORDS, PARTITIONS = 8, 3, 1500, 4


def test_producers_and_a_group_at_once(tmp_path: Path) -> None:
    """Eight producers (half of them share one object), and three members of a group, two of which come and go."""
    with octavo.LogDir(tmp_path) as logs:
        logs.create_topic("t", PARTITIONS, {"segment.bytes": 65536})
        shared = logs.producer(batch_size=2000, linger_ms=1)
        done, lock = threading.Event(), threading.Lock()
        read: list[ConsumerRecord] = []

        def produce(number: int) -> None:
            own = shared if number % 2 else logs.producer(batch_size=1000, compression_type="lz4", linger_ms=0)
            chosen = random.Random(number)
            futures = [
                own.send("t", b"%d:%d" % (number, count), partition=chosen.randrange(PARTITIONS))
                for count in range(RECORDS)
            ]
            own.flush()
            assert all(future.done() and future.exception() is None for future in futures)
            places = [(future.partition, future.offset) for future in futures]
            assert len(set(places)) == RECORDS

        def consume(lives: int) -> None:
            for _ in range(lives):
                with logs.consumer("t", group="g", auto_commit_interval_ms=0) as consumer:
                    _read(consumer, read, lock, done, limit=None if lives == 1 else 700)

        with ThreadPoolExecutor(READERS + PRODUCERS) as threads:
            readers = [threads.submit(consume, lives) for lives in range(1, READERS + 1)]
            writers = [threads.submit(produce, number) for number in range(PRODUCERS)]
            wait(writers)
            done.set()
            for work in (*writers, *readers):
                work.result()
    scanned = list(octavo.scan(tmp_path, topics=["t"]).records())
    for found in (scanned, read):
        counts = Counter(record.value for record in found)
        assert len(counts) == PRODUCERS * RECORDS and set(counts.values()) == {1}
        check_order(found)


def test_callbacks_may_send_to_each_others_topics(tmp_path: Path) -> None:
    with octavo.LogDir(tmp_path) as logs:
        for topic in ("a", "b"):
            logs.create_topic(topic, 2)
        producer, both = logs.producer(linger_ms=60_000, batch_size=200), threading.Barrier(2, timeout=10)

        def send(topic: str, other: str) -> None:
            def called(_: object) -> None:
                both.wait()
                producer.send(other, b"from a callback")

            producer.send(topic, bytes(150)).add_callback(called)
            for _ in range(6):
                producer.send(topic, bytes(150))

        threads = [threading.Thread(target=send, args=topics, daemon=True) for topics in (("a", "b"), ("b", "a"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert not any(thread.is_alive() for thread in threads)


def _read(
    consumer: Consumer, read: list[ConsumerRecord], lock: threading.Lock, done: threading.Event, limit: int | None
) -> None:
    """Read until everything was written and nothing is left, or until this many were read."""
    count = 0
    while limit is None or count < limit:
        ending = done.is_set()
        polled = [record for records in consumer.poll(timeout_ms=5).values() for record in records]
        with lock:
            read += polled
        count += len(polled)
        if ending and not polled and (limit is not None or _has_all(consumer)):
            return


def _has_all(consumer: Consumer) -> bool:
    """Whether the last member has got the other members' partitions, and read them to their ends."""
    names = consumer.assignment()
    ends = consumer.end_offsets(names)
    return len(names) == PARTITIONS and all(consumer.position(name) == end for name, end in ends.items())


def check_order(found: list[ConsumerRecord]) -> None:
    last: dict[tuple[int, bytes], int] = defaultdict(lambda: -1)
    for record in sorted(found, key=lambda record: (record.partition, record.offset)):
        producer, _, count = (record.value or b"").partition(b":")
        assert int(count) > last[record.partition, producer]
        last[record.partition, producer] = int(count)


def test_first_transactional_producers_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is one coordinator, however long it takes to create and whoever asks for it in the meantime."""
    with octavo.LogDir(tmp_path, background=False) as logs:
        logs.create_topic("t", 1)
        with logs.producer(transactional_id="old") as producer, producer.transaction():
            producer.send("t", b"0")
    made, second, make = [], threading.Barrier(2), TransactionCoordinator.__init__

    def slow(coordinator: TransactionCoordinator, *arguments: Any) -> None:
        made.append(coordinator)
        with suppress(threading.BrokenBarrierError):
            second.wait(0.2)  # a second coordinator made meanwhile would get here
        make(coordinator, *arguments)

    monkeypatch.setattr(TransactionCoordinator, "__init__", slow)
    with octavo.LogDir(tmp_path, background=False) as logs, ThreadPoolExecutor(6) as threads:

        def produce(number: int) -> None:
            producer = logs.producer(transactional_id=f"x{number}")
            for count in range(3):
                with producer.transaction():
                    producer.send("t", b"%d:%d" % (number, count))

        list(threads.map(produce, range(6)))
        assert len(made) == 1 and len(logs._clients.producers) == 6
        assert len(list(logs.consumer("t", isolation_level="read_committed"))) == 1 + 6 * 3
