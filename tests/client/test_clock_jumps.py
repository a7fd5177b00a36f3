"""The time of day goes back: linger, retries, auto commit, evictions and flushes continue as if nothing had
happened."""

from __future__ import annotations

import time

import pytest

from octavo.errors import KafkaStorageError
from octavo.storage.cleaner.manager import Throttle
from octavo.storage.partition_log import PartitionLog
from octavo.system.clock import SystemClock
from tests.client.stores import Store

HOUR_MS = 3_600_000
T0 = ("t", 0)


@pytest.fixture
def topic(store: Store) -> Store:
    store.logs.create_topic("t", 1, {"flush.ms": 1000})
    return store


def turn_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = store.world.clock
    monkeypatch.setattr(clock, "time_ms", lambda: clock.now_ms - HOUR_MS)


def test_linger(topic: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    producer = topic.logs.producer(linger_ms=20)
    future = producer.send("t", b"1")
    turn_back(topic, monkeypatch)
    later = producer.send("t", b"2")
    topic.world.scheduler.advance(20)
    assert future.done() and later.done()


def test_retries(topic: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    producer = topic.logs.producer(linger_ms=0, retry_backoff_ms=100)
    future = producer.send("t", b"1")
    with monkeypatch.context() as patch:
        patch.setattr(PartitionLog, "append_as_leader", _fail)
        topic.world.scheduler.advance(0)
    turn_back(topic, monkeypatch)
    assert not future.done()
    topic.world.scheduler.advance(200)
    assert future.done() and future.offset == 0


def _fail(*_: object, **__: object) -> None:
    raise KafkaStorageError("a test's disk failed")


def test_auto_commit(topic: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with topic.logs.producer() as producer:
        producer.send("t", b"1")
    consumer = topic.logs.consumer("t", group="g")
    consumer.poll()
    turn_back(topic, monkeypatch)
    topic.world.clock.advance(5000)
    consumer.poll()
    assert consumer.committed(T0) == (1, "", -1)


def test_a_member_that_does_not_poll_is_evicted(topic: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    lost, kept = (topic.logs.consumer("t", group="g", max_poll_interval_ms=1000) for _ in range(2))
    lost.poll()
    assert lost.assignment()
    turn_back(topic, monkeypatch)
    topic.world.clock.advance(1001)
    kept.poll()
    assert kept.assignment()


def test_flushes(topic: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with topic.logs.producer() as producer:
        producer.send("t", b"1")
    turn_back(topic, monkeypatch)
    topic.world.scheduler.advance(60_000)
    assert topic.logs.log("t", 0).recovery_point == 1


def test_the_throttle(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[int] = []
    throttle = Throttle(1000.0, store.world.clock, waited.append)
    turn_back(store, monkeypatch)
    store.world.clock.advance(1000)
    throttle.add(3000)
    assert waited == [2000]


def test_the_machines_clock_has_both_times() -> None:
    clock = SystemClock()
    for nanoseconds, milliseconds in ((time.time_ns, clock.time_ms), (time.monotonic_ns, clock.monotonic_ms)):
        before = nanoseconds() // 10**6
        assert before <= milliseconds() <= nanoseconds() // 10**6
