"""A producer's id, epoch and sequence, and the leader epoch, in the batches it appends."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pyarrow as pa
import pytest

import octavo
from octavo.coordinator.transactions.producer_ids import FIRST_PRODUCER_ID
from octavo.errors import CorruptionError
from octavo.format.batches.walker import walk
from octavo.format.names import LEADER_EPOCH_CHECKPOINT, PRODUCER_ID_STORE
from octavo.storage.environment import Environment
from octavo.system.filesystem import LocalFileSystem
from tests.client.stores import Store
from tests.storage.worlds import World


def test_own_appends_have_the_last_leader_epoch(store: Store) -> None:
    """Even if that leader wrote nothing: its entry, at the log's end, is gone after the log has been loaded."""
    store.logs.create_topic("t", 1)
    with store.logs.producer(transactional_id="x") as producer, producer.transaction():
        producer.send("t", b"1")
        producer.send_offsets_to_transaction({("t", 0): 1}, "g")
    ends = {name: log.log_end_offset for name, log in store.logs.logs.items() if log.log_end_offset}
    assert {name.topic for name in ends} == {"t", "__consumer_offsets", "__transaction_state"}
    store.logs.close()
    for name, end in ends.items():
        (store.folder / str(name) / LEADER_EPOCH_CHECKPOINT).write_text(f"0\n2\n0 0\n7 {end}\n")
    logs = store.reopen()
    with logs.producer(transactional_id="x") as producer, producer.transaction():
        producer.send("t", b"2")
        producer.flush()
        producer.send_table("t", pa.table({"value": ["3"]}))
        producer.send_offsets_to_transaction({("t", 0): 2}, "g")
    logs.consumer(group="g").commit({("t", 0): 3})
    for name, end in ends.items():
        table = walk(store.batches(*name)).table
        new = table[table["base_offset"] >= end]
        assert len(new) and set(new["partition_leader_epoch"].tolist()) == {7}


def test_ids_are_never_given_twice(store: Store) -> None:
    store.logs.create_topic("t", 1)
    seen = []
    for _ in range(3):
        for _ in range(2):
            with store.logs.producer() as producer:
                producer.send("t", b"v")
        store.reopen()
        seen.append(int(walk(store.batches("t")).table["producer_id"].max()))
    ids = walk(store.batches("t")).table["producer_id"].tolist()
    assert len(set(ids)) == 6 and min(ids) == FIRST_PRODUCER_ID
    assert seen == sorted(set(seen))


def test_without_idempotence_there_is_no_id(store: Store) -> None:
    store.logs.create_topic("t", 1)
    with store.logs.producer({"enable.idempotence": "false"}) as producer:
        producer.send("t", b"v")
    (batch,) = walk(store.batches("t")).table
    assert (batch["producer_id"], batch["producer_epoch"], batch["base_sequence"]) == (-1, -1, -1)


def test_sequences_wrap_around(store: Store) -> None:
    store.logs.create_topic("t", 1)
    producer = store.logs.producer()
    (queue,) = producer._accumulator.queues("t")
    queue.sequence_for(producer._identity.current[0], 0)
    queue.next_sequence = 2**31 - 2
    for _ in range(2):
        for _ in range(3):
            producer.send("t", b"v")
        producer.flush()
    assert walk(store.batches("t")).table["base_sequence"].tolist() == [2**31 - 2, 1]


def test_making_a_producer_writes_nothing(tmp_path: Path) -> None:
    """A missing directory is created with the first topic, even if that is one of Kafka's own."""
    with octavo.LogDir(tmp_path / "a", background=False) as logs:
        producer = logs.producer()
        assert not (tmp_path / "a").exists()
        logs.create_topic("t", 1)
        assert producer.send("t", b"v").offset == 0
    with octavo.LogDir(tmp_path / "b", background=False) as logs:
        assert logs.producer(transactional_id="x")._identity.current[1] == 0


class OneDeadDisk(LocalFileSystem):
    """The store of ids in one directory cannot be read: its disk fails just then."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read_bytes(self, path: Path) -> bytes:
        if path == self._root / PRODUCER_ID_STORE:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return super().read_bytes(path)


def test_ids_come_from_the_other_directories_if_a_disk_fails(tmp_path: Path) -> None:
    roots = [tmp_path / "a", tmp_path / "b"]
    for root in roots:
        root.mkdir()
        (root / PRODUCER_ID_STORE).write_text('{"nextProducerId": 2000}')
    world = World()
    environment = Environment(world.scheduler, world.clock, OneDeadDisk(roots[0]))
    with octavo.LogDir(roots, environment=environment) as logs:
        logs.create_topic("t", 2)
        assert logs.producer().send("t", b"v", partition=1).exception() is None
        assert set(logs.offline) == {roots[0]}


@pytest.mark.parametrize(
    "content",
    ["[" * 200_000, "{}", "[]", "7", *(f'{{"nextProducerId": {bad}}}' for bad in ("-1", "true", "1.5", str(2**63)))],
    ids=lambda content: content[:40],
)
def test_a_damaged_store_of_ids_is_named(store: Store, content: str) -> None:
    store.logs.create_topic("t", 1)
    path = store.folder / "octavo-producer-ids.json"
    path.write_text(content)
    error = store.logs.producer().send("t", b"v").exception()
    assert isinstance(error, CorruptionError) and str(path) in str(error)
    path.unlink()
    os.mkfifo(path)
    assert isinstance(store.logs.producer().send("t", b"v").exception(), CorruptionError)
    path.unlink()
