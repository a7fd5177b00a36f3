"""The partition a record goes to: its key's, the sticky one, a given one; topics that grow or are created again."""

from __future__ import annotations

from itertools import pairwise

import pytest

from octavo.errors import UnknownTopicOrPartitionError
from tests.client.stores import Store


def test_keys_choose_partitions_as_kafka_does(store: Store) -> None:
    store.logs.create_topic("t", 12)
    keys = {"": 9, "a": 4, "ab": 2, "abc": 3, "abcd": 8, "key": 1, "kafka": 4, "foobar": 6}
    with store.logs.producer() as producer:
        assert {key: producer.send("t", key=key).partition for key in keys} == keys
        assert producer.send("t", key="a", partition=7).partition == 7
        assert producer.partitions_for("t") == list(range(12))


def test_records_whose_keys_are_ignored_stick_to_a_partition_for_a_batch(store: Store) -> None:
    store.logs.create_topic("t", 5)
    with store.logs.producer(batch_size=1000, partitioner_ignore_keys=True) as producer:
        futures = [producer.send("t", b"v" * 100, key=b"same") for _ in range(1000)]
    partitions = [future.partition for future in futures]
    changes = sum(left != right for left, right in pairwise(partitions))
    assert set(partitions) == set(range(5))
    assert changes <= 1000 * 112 / 1000  # at least one batch between two changes
    assert max(partitions.count(partition) for partition in range(5)) < 500


def test_new_partitions_are_noticed(store: Store) -> None:
    store.logs.create_topic("t", 1)
    producer = store.logs.producer()
    producer.send("t", b"v").result()
    store.logs.create_partitions("t", 3)
    assert producer.send("t", b"v", partition=2).result().partition == 2


def test_a_topic_that_was_made_again_is_written_to(store: Store) -> None:
    store.logs.create_topic("t", 1)
    producer = store.logs.producer()
    producer.send("t", b"old").result()
    store.logs.delete_topic("t")
    with pytest.raises(UnknownTopicOrPartitionError, match="there is no topic 't'"):
        producer.send("t", b"nowhere")
    store.logs.create_topic("t", 2)
    assert producer.send("t", b"new", partition=0).offset == 0
    waiting = producer.send("t", b"waits", partition=1)
    store.logs.delete_topic("t")
    assert isinstance(waiting.exception(), UnknownTopicOrPartitionError)
