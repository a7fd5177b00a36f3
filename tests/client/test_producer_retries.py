"""Batches whose append fails: tried again without duplicates, given up after the delivery timeout."""

from __future__ import annotations

import pytest

from octavo.errors import DeliveryTimeoutError, KafkaStorageError
from octavo.format.batches.walker import walk
from octavo.storage.append.append import AppendResult
from tests.client.stores import Store


def test_a_retry_does_not_duplicate(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """An append whose answer is lost is repeated with its sequence, and answered with its existing offsets."""
    store.logs.create_topic("t", 1)
    log = store.logs.log("t", 0)
    append, calls = log.append_as_leader, []

    def lose_answers(*given: object, **named: object) -> AppendResult:
        result: AppendResult = append(*given, **named)  # type: ignore[arg-type]
        calls.append(result.is_duplicate)
        if len(calls) % 3:
            raise KafkaStorageError("the answer is lost")
        return result

    monkeypatch.setattr(log, "append_as_leader", lose_answers)
    producer = store.logs.producer(retry_backoff_ms=0)
    futures = []
    for number in range(5):
        futures.append(producer.send("t", b"%d" % number))
        producer.flush()
    assert calls == [False, True, True] * 5
    assert [future.offset for future in futures] == list(range(5))
    assert [record.value for record in store.records("t")] == [b"0", b"1", b"2", b"3", b"4"]


def test_a_retry_waits_in_the_background(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.logs.create_topic("t", 1)
    log = store.logs.log("t", 0)
    append, fails = log.append_as_leader, [True, True]

    def refuse(*given: object, **named: object) -> AppendResult:
        if fails and fails.pop():
            raise KafkaStorageError("not now")
        return append(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(log, "append_as_leader", refuse)
    producer = store.logs.producer(linger_ms=0, retry_backoff_ms=100)
    future = producer.send("t", b"1")
    store.world.scheduler.advance(0)
    later = producer.send("t", b"2")
    store.world.scheduler.advance(99)
    assert not future.done() and len(fails) == 1
    store.world.scheduler.advance(1)
    assert not future.done() and not fails
    store.world.scheduler.advance(200)
    assert (future.offset, later.offset) == (0, 1)


def test_after_delivery_timeout_ms_a_batch_fails(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.logs.create_topic("t", 1)
    log = store.logs.log("t", 0)
    append = log.append_as_leader

    def refuse(*_: object, **__: object) -> AppendResult:
        raise KafkaStorageError("never")

    monkeypatch.setattr(log, "append_as_leader", refuse)
    producer = store.logs.producer(linger_ms=0)
    future = producer.send("t", b"1")
    store.world.scheduler.advance(121_000)
    assert isinstance(future.exception(), DeliveryTimeoutError)
    monkeypatch.setattr(log, "append_as_leader", append)
    assert producer.send("t", b"2").offset == 0
    # Nobody knows whether the lost batch is in the log, so the next one begins a new epoch.
    assert walk(store.batches("t")).table[["producer_epoch", "base_sequence"]].tolist() == [(1, 0)]


def test_a_log_that_forgot_batches_is_written_to_in_a_new_epoch(store: Store) -> None:
    store.logs.create_topic("t", 1)
    producer = store.logs.producer()
    for _ in range(3):
        producer.send("t", b"v").result()
    store.logs.truncate("t", 0, 1)
    assert producer.send("t", b"w").offset == 1
    assert walk(store.batches("t")).table[["producer_epoch", "base_sequence"]].tolist() == [(0, 0), (1, 0)]
