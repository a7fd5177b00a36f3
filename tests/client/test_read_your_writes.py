"""A record whose `send` has returned is found by the next reader in the same process, however long linger.ms is."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import octavo
from octavo.client.log_dir import LogDir
from octavo.client.producer.producer import Producer
from tests.client.stores import Store

HOUR_MS = 3_600_000


@pytest.fixture
def producer(store: Store) -> Iterator[Producer]:
    """A producer that appends nothing by itself, since the store's scheduler moves only when a test moves it."""
    store.logs.create_topic("t", 2)
    with store.logs.producer(linger_ms=HOUR_MS) as made:
        yield made


def test_a_loop_finds_what_was_sent_before_it_ends(store: Store, producer: Producer) -> None:
    producer.send("t", b"1", partition=0)
    consumer = store.logs.consumer("t")
    found = []
    for record in consumer:
        found.append(record.value)
        if record.value == b"1":
            producer.send("t", b"2", partition=1)
    assert found == [b"1", b"2"]
    producer.send("t", b"3", partition=0)
    assert [record.value for record in consumer] == [b"3"]


def test_a_loop_that_may_wait_for_ever_finds_what_was_sent_without_waiting(
    store: Store, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait(end: float | None) -> bool:
        raise AssertionError("it waits")

    consumer = store.logs.consumer("t", consumer_timeout_ms=-1)
    following = octavo.scan(store.folder).consumer(consumer_timeout_ms=-1)
    for reader in (consumer, following):
        monkeypatch.setattr(reader, "_wait", wait)
    records = zip(iter(consumer), iter(following), strict=False)
    for value in (b"1", b"2"):
        producer.send("t", value, partition=0)
        assert [record.value for record in next(records)] == [value, value]


def test_a_poll_finds_what_was_sent_to_all_partitions(store: Store, producer: Producer) -> None:
    producer.send("t", b"in the log", partition=0).result()
    producer.send("t", b"held", partition=1)
    polled = store.logs.consumer("t").poll()
    assert sorted(record.value or b"" for records in polled.values() for record in records) == [b"held", b"in the log"]


def test_offsets_count_what_was_sent(store: Store, producer: Producer) -> None:
    consumer = store.logs.consumer("t", auto_offset_reset="latest")
    producer.send("t", b"1", partition=0, timestamp=5)
    assert consumer.end_offsets([("t", 0)]) == {("t", 0): 1}
    producer.send("t", b"2", partition=0, timestamp=7)
    assert consumer.offsets_for_times({("t", 0): 6}) == {("t", 0): 1}
    producer.send("t", b"3", partition=0)
    assert consumer.position(("t", 0)) == 3
    producer.send("t", b"4", partition=0)
    consumer.seek_to_end(("t", 0))
    assert consumer.poll() == {}


def test_a_scan_finds_what_was_sent(store: Store, producer: Producer) -> None:
    producer.send("t", b"1", partition=0)
    scan = octavo.scan(store.folder)
    assert [record.value for record in scan] == [b"1"]
    producer.send("t", b"2", partition=0)
    partition = store.folder / "t-0"
    assert octavo.scan(partition).to_table()["value"].to_pylist() == [b"1", b"2"]


def test_a_consumer_over_a_scan_finds_what_was_sent(store: Store, producer: Producer) -> None:
    consumer = octavo.scan(store.folder).consumer()
    producer.send("t", b"1", partition=0)
    assert [record.value for record in consumer] == [b"1"]
    producer.send("t", b"2", partition=0)
    assert [record.value for record in consumer.poll()[octavo.TopicPartition("t", 0)]] == [b"2"]
    producer.send("t", b"3", partition=0)
    assert consumer.end_offsets([("t", 0)]) == {("t", 0): 3}


def test_only_the_topics_that_are_read_are_written(store: Store, producer: Producer) -> None:
    """A program that reads one topic and writes another keeps its large batches."""
    store.logs.create_topic("other", 1)
    future = producer.send("other", b"v")
    assert list(store.logs.consumer("t")) == []
    assert not future.done()


def test_an_open_transaction_stays_isolated(store: Store) -> None:
    store.logs.create_topic("t", 1)
    with store.logs.producer(linger_ms=HOUR_MS, transactional_id="x") as producer:
        producer.begin_transaction()
        producer.send("t", b"1")
        committed = store.logs.consumer("t", isolation_level="read_committed")
        assert list(committed) == []
        assert [record.value for record in store.logs.consumer("t")] == [b"1"]
        assert list(octavo.scan(store.folder, "t", isolation_level="read_committed")) == []
        producer.commit_transaction()
        assert [record.value for record in committed] == [b"1"]


class Gate:
    """A lock that shows its holder when somebody else wants it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.is_wanted = threading.Event()

    def __enter__(self) -> None:
        self.is_wanted.set()
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()


def test_a_batch_that_another_thread_is_appending_is_waited_for(store: Store, producer: Producer) -> None:
    """The scheduler may have taken the batch out of the producer, but not yet put it into the log."""
    future = producer.send("t", b"1", partition=0)
    queue = next(iter(producer._topics["t"]))
    queue.lock = gate = Gate()  # type: ignore[assignment]
    is_closed = threading.Event()

    def append() -> None:
        with gate.lock:
            queue.close_open()
            is_closed.set()
            gate.is_wanted.wait()
            producer._accumulator._sender.append(queue, queue.closed[0])

    appending = threading.Thread(target=append)
    appending.start()
    is_closed.wait()
    assert [record.value for record in store.logs.consumer("t")] == [b"1"]
    appending.join()
    assert future.done()


def test_a_batch_that_waits_for_its_retry_does_not_block_readers(
    store: Store, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: object, **named: object) -> None:
        raise octavo.KafkaStorageError("not now")

    monkeypatch.setattr(store.logs.log("t", 0), "append_as_leader", refuse)
    waiting = producer.send("t", b"1", partition=0)
    producer.send("t", b"2", partition=1)
    assert [record.value for record in store.logs.consumer("t")] == [b"2"]
    assert not waiting.done()
    monkeypatch.undo()


def test_a_batch_that_the_scheduler_appends_right_after_a_look_is_found(
    store: Store, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer.send("t", b"1", partition=0)
    consumer = store.logs.consumer("t")
    wait = consumer._wait

    def append_then_wait(end: float | None) -> bool:
        store.world.scheduler.advance(HOUR_MS)
        return wait(end)

    monkeypatch.setattr(consumer, "_wait", append_then_wait)
    assert [record.value for record in consumer] == [b"1"]


def test_each_record_is_found_at_once_with_the_scheduler_of_a_program(tmp_path: Path) -> None:
    """What a new user types: no flush, no sleep, the default linger.ms."""
    with LogDir(tmp_path) as logs:
        logs.create_topic("t", 1)
        producer, consumer = logs.producer(), logs.consumer("t")
        for number in range(200):
            producer.send("t", str(number))
            assert [record.value for record in consumer] == [str(number).encode()]
            assert octavo.scan(tmp_path, columns=["offset"]).to_table().num_rows == number + 1


def test_a_scan_leaves_the_producers_of_other_directories_alone(tmp_path: Path) -> None:
    with octavo.LogDir(tmp_path / "a", create=True) as one, octavo.LogDir(tmp_path / "b", create=True) as other:
        one.create_topic("t", 1)
        other.create_topic("t", 1)
        one.producer(linger_ms=60_000).send("t", b"x")
        held = other.producer(linger_ms=60_000).send("t", b"y")
        assert octavo.scan(tmp_path / "a").count() == 1
        assert not held.done()
        assert octavo.scan(tmp_path / "b" / "t-0").count() == 1
        assert held.done()
