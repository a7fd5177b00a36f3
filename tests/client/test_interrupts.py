"""Ctrl-C at any step of a call: nothing acknowledged is lost or duplicated, and everything continues.

The steps are sampled; with OCTAVO_INTERRUPTS=1 in the environment each one is tested, except in `test_groups`: there
every third one is.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from octavo.client.consumer.consumer import Consumer
from octavo.client.log_dir import LogDir
from octavo.client.producer.future import RecordFuture
from octavo.client.producer.producer import Producer
from tests.client.interrupts import interrupted
from tests.client.stores import Store

STRIDE = int(os.environ.get("OCTAVO_INTERRUPTS", "11"))
FEW_PARTITIONS = {"offsets_topic_num_partitions": "1", "transaction_state_log_num_partitions": "1"}
CONFIGS = [{}, {"batch_size": 120, "compression_type": "lz4"}]


class Sends:
    """Records that were sent, and the futures of those whose `send` was not interrupted."""

    def __init__(self, store: Store) -> None:
        self.numbers = itertools.count()
        self.futures: dict[bytes, RecordFuture] = {}
        self._store = store

    def send(self, producer: Producer, count: int = 6) -> None:
        for _ in range(count):
            number = next(self.numbers)
            value = b"%d" % number
            self.futures[value] = producer.send("t", value, partition=number % 2)

    def check(self) -> None:
        """A record with a future must be in its place, and no record may be there twice."""
        found = {(record.partition, record.offset): record.value for record in self._store.records("t")}
        assert not [value for value, count in Counter(found.values()).items() if count > 1]
        for value, future in self.futures.items():
            assert found[future.partition, future.result(10).offset] == value


@pytest.mark.parametrize("configs", CONFIGS, ids=["plain", "small and compressed"])
def test_sends_and_flushes(store: Store, configs: dict[str, Any]) -> None:
    store.logs.create_topic("t", 2)
    producer, sends = store.logs.producer(**configs), Sends(store)

    def run() -> None:
        sends.send(producer)
        producer.flush()

    for _ in interrupted(run, stride=STRIDE):
        producer.send("t", b"next %d" % next(sends.numbers)).result(10)
    sends.check()


def test_linger_goes_on(store: Store) -> None:
    """No call follows the interrupt: what was sent reaches the log nevertheless."""
    store.logs.create_topic("t", 2)
    producer, sends = store.logs.producer(batch_size=120, linger_ms=5), Sends(store)
    for _ in interrupted(lambda: sends.send(producer, 10), stride=STRIDE):
        store.world.scheduler.advance(1000)
        assert all(future.done() for future in sends.futures.values())
    sends.check()


def test_batches_that_are_split_and_callbacks(store: Store) -> None:
    store.logs.create_topic("t", 2, {"max.message.bytes": 300})
    producer, sends, called = store.logs.producer(batch_size=2000), Sends(store), Counter[int]()

    def count(number: int, _: object) -> None:
        called[number] += 1

    def run() -> None:
        for number in itertools.islice(sends.numbers, 16):
            value = b"%d" % number + b"." * 40
            future = producer.send("t", value, partition=0)
            sends.futures[value] = future.add_callback(partial(count, number))
        producer.flush()

    for interrupts, _ in enumerate(interrupted(run, stride=STRIDE)):
        producer.flush()
        assert len(called) >= len(sends.futures) - interrupts - 1  # each interrupt may have hit a callback
    sends.check()
    assert set(called.values()) == {1}


def test_transactions(store: Store) -> None:
    store.logs.create_topic("t", 2)
    producer, numbers, committed = store.logs.producer(transactional_id="x"), itertools.count(), list[int]()

    def run() -> None:
        number = next(numbers)
        with producer.transaction():
            for part in range(3):
                producer.send("t", b"%d:%d" % (number, part), partition=part % 2)
        committed.append(number)

    for _ in interrupted(run, stride=STRIDE):
        run()
    check_whole(store, committed)
    logs = [store.logs.log("t", partition) for partition in (0, 1)]
    assert all(log.last_stable_offset == log.log_end_offset for log in logs)


def check_whole(store: Store, committed: list[int]) -> None:
    values = [record.value or b"" for record in store.records("t", "read_committed")]
    counts = Counter(int(value.split(b":")[0]) for value in values)
    assert len(set(values)) == len(values) and set(counts.values()) <= {3}
    assert set(committed) <= counts.keys()


def test_tables(store: Store) -> None:
    store.logs.create_topic("t", 2)
    producer, numbers, appended = store.logs.producer(), itertools.count(), dict[bytes, tuple[int, int]]()

    def run() -> None:
        values = [b"%d" % next(numbers) for _ in range(4)]
        table = pa.table({"value": values, "partition": pa.array([0, 0, 0, 0], pa.int32())})
        (part,) = producer.send_table("t", table)
        appended.update({value: (0, part.base_offset + slot) for slot, value in enumerate(values)})

    for _ in interrupted(run, stride=STRIDE):
        run()
    found = {(record.partition, record.offset): record.value for record in store.records("t")}
    assert len(set(found.values())) == len(found)
    assert all(found[place] == value for value, place in appended.items())


def test_groups(store: Store) -> None:
    """Polls, commits, members that come and go: each record is returned, and the member that stays gets all
    partitions."""
    store.logs.create_topic("t", 4)
    producer, numbers = store.logs.producer(), itertools.count()
    stays, seen = store.logs.consumer("t", group="g"), set[bytes | None]()

    def poll(consumer: Consumer) -> None:
        for records in consumer.poll(max_records=5).values():
            seen.update(record.value for record in records)

    def run() -> None:
        with store.logs.consumer("t", group="g", max_poll_records=3) as comes:
            for consumer in (stays, comes, stays, comes):
                poll(consumer)
                consumer.commit()
            for record in comes:
                seen.add(record.value)

    for _ in interrupted(run, stride=3 * STRIDE):
        for number in itertools.islice(numbers, 8):
            producer.send("t", b"%d" % number, partition=number % 4)
        producer.flush()
    for consumer in store.logs._clients.consumers:
        if consumer is not stays:
            consumer.close()
    last = next(numbers)
    for _ in range(last):  # five records at a time
        poll(stays)
    assert len(stays.assignment()) == 4
    assert seen == {b"%d" % number for number in range(last)}


@pytest.mark.parametrize("what", ["producer", "transaction", "consumer", "directory"])
def test_closing(tmp_path: Path, what: str) -> None:
    """An interrupted close is called again: what was waiting is in the log, unless its transaction was open, and the
    directory is free."""
    for number in itertools.count():
        store = Store(tmp_path / str(number), **FEW_PARTITIONS)
        store.logs.create_topic("t", 1)
        producer = store.logs.producer(transactional_id="x" if what == "transaction" else None)
        consumer = store.logs.consumer("t", group="g")
        if what == "transaction":
            producer.begin_transaction()
        future = producer.send("t", b"1")
        if what == "consumer":
            producer.flush()
            assert consumer.poll()
        closing: dict[str, Producer | Consumer | LogDir] = {"directory": store.logs, "consumer": consumer}
        closed = closing.get(what, producer)
        run = interrupted(closed.close, number * STRIDE)
        place = next(run)
        closed.close()
        if what != "transaction":
            assert future.done() and future.offset == 0
        if what == "consumer":
            assert store.logs.consumer(group="g").committed(("t", 0)) == (1, "", -1)
            assert [row["groupState"] for row in store.logs.group_coordinator.admin.list()] == ["Empty"]
        store.reopen().close()
        if place is None:
            return
