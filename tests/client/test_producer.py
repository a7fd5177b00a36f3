"""Sending records: batches by size and time, futures, ids and sequences, what is refused, what is tried again."""

from __future__ import annotations

import os
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import octavo
from octavo.client.producer.config import ProducerConfig
from octavo.coordinator.transactions.producer_ids import FIRST_PRODUCER_ID
from octavo.errors import (
    ConfigError,
    CorruptionError,
    DeliveryTimeoutError,
    IllegalStateError,
    InvalidBatchError,
    InvalidTimestampError,
    InvalidTopicError,
    KafkaStorageError,
    RecordTooLargeError,
    UnknownTopicOrPartitionError,
)
from octavo.format.batches.walker import walk
from octavo.format.names import LEADER_EPOCH_CHECKPOINT
from octavo.format.record import Header
from octavo.kernels.layout import CODEC_MASK, LOG_APPEND_TIME
from octavo.storage.append.append import AppendResult
from tests.client.stores import Store
from tests.storage.worlds import NOW_MS

# clients.md: three records as Kafka's accumulator builds them, producer id 4000, epoch 0, base sequence 0.
GOLDEN = (
    "000000000000000000000052ffffffff029d14f3800000000000020000018bcfe568000000018bcfe5680a0000000000000fa0000000000000"
    "0000000314000000046b31047631001800140201047632020268027810001304046b330100"
)


def test_a_record_is_in_the_log_when_its_future_is_done(store: Store) -> None:
    store.logs.create_topic("t", 1)
    producer = store.logs.producer()
    future = producer.send("t", key="k", value=b"v", headers=[("h", b"x"), ("n", None)])
    assert not future.done()
    assert future.result() == ("t", 0, 0, NOW_MS)
    assert future.done() and (future.topic, future.partition, future.offset) == ("t", 0, 0)
    assert future.timestamp == NOW_MS and future.exception() is None
    (record,) = store.records("t")
    assert (record.key, record.value) == (b"k", b"v")
    assert record.headers == (Header("h", b"x"), Header("n", None))


def test_a_batch_waits_for_linger_ms(store: Store) -> None:  # T3
    store.logs.create_topic("t", 1)
    producer = store.logs.producer(linger_ms=5)
    first = producer.send("t", b"1")
    store.world.scheduler.advance(3)
    second = producer.send("t", b"2")
    store.world.scheduler.advance(1)
    assert not first.done()
    store.world.scheduler.advance(1)
    assert first.done() and second.done()
    assert [batch["count"] for batch in walk(store.batches("t")).table] == [2]


def test_own_appends_have_the_last_leader_epoch(store: Store) -> None:
    """Also where that leader wrote nothing: its entry, at the log's end, is gone when the log has been loaded."""
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


def test_a_full_batch_does_not_wait(store: Store) -> None:  # T3
    store.logs.create_topic("t", 1)
    producer = store.logs.producer(batch_size=200, linger_ms=1000)
    futures = [producer.send("t", b"0123456789", timestamp=NOW_MS) for _ in range(20)]
    assert [future.done() for future in futures] == [True] * 16 + [False] * 4
    producer.flush()
    table = walk(store.batches("t")).table
    assert table["count"].tolist() == [8, 8, 4] and table["size"].tolist()[:2] == [197, 197]
    assert [future.offset for future in futures] == list(range(20))


def test_the_bytes_are_those_of_kafkas_producer(store: Store) -> None:
    store.logs.create_topic("t", 1)
    producer = store.logs.producer()
    producer._identity.become(4000, 0)
    producer.send("t", b"v1", b"k1", timestamp=1_700_000_000_000)
    producer.send("t", b"v2", headers=[("h", b"x")], timestamp=1_700_000_000_010)
    producer.send("t", None, b"k3", timestamp=1_699_999_999_990)
    producer.flush()
    golden = bytearray.fromhex(GOLDEN)
    golden[12:16] = bytes(4)  # the leader epoch is the log's
    assert store.batches("t") == bytes(golden)


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_codecs(store: Store, codec: str) -> None:
    store.logs.create_topic("t", 1)
    with store.logs.producer(compression_type=codec, batch_size=2000) as producer:
        sent = [b'{"number": %d, "text": "all of them are alike"}' % number for number in range(3000)]
        futures = [producer.send("t", value) for value in sent]
    assert [record.value for record in store.records("t")] == sent
    assert [future.offset for future in futures] == list(range(3000))
    table = walk(store.batches("t")).table
    assert {int(attributes) & CODEC_MASK for attributes in table["attributes"]} != {0}
    assert table["size"].max() <= 2000
    assert table["count"].max() > 40 * 1.2  # the estimate has followed what batches compress to


def test_keys_choose_partitions_as_kafka_does(store: Store) -> None:
    store.logs.create_topic("t", 12)
    keys = {"": 9, "a": 4, "ab": 2, "abc": 3, "abcd": 8, "key": 1, "kafka": 4, "foobar": 6}
    with store.logs.producer() as producer:
        assert {key: producer.send("t", key=key).partition for key in keys} == keys
        assert producer.send("t", key="a", partition=7).partition == 7
        assert producer.partitions_for("t") == list(range(12))


def test_records_without_a_key_stick_to_a_partition_for_a_batch(store: Store) -> None:
    store.logs.create_topic("t", 5)
    with store.logs.producer(batch_size=1000, partitioner_ignore_keys=True) as producer:
        futures = [producer.send("t", b"v" * 100, key=b"same") for _ in range(1000)]
    partitions = [future.partition for future in futures]
    changes = sum(left != right for left, right in pairwise(partitions))
    assert set(partitions) == set(range(5))
    assert changes <= 1000 * 112 / 1000  # at least a batch between two changes
    assert max(partitions.count(partition) for partition in range(5)) < 500


def test_new_partitions_are_noticed(store: Store) -> None:
    store.logs.create_topic("t", 1)
    producer = store.logs.producer()
    producer.send("t", b"v").result()
    store.logs.create_partitions("t", 3)
    assert producer.send("t", b"v", partition=2).result().partition == 2


def test_a_topic_that_was_made_anew_is_written_to(store: Store) -> None:
    store.logs.create_topic("t", 1)
    producer = store.logs.producer()
    producer.send("t", b"old").result()
    store.logs.delete_topic("t")
    with pytest.raises(UnknownTopicOrPartitionError, match="there is no topic t"):
        producer.send("t", b"nowhere")
    store.logs.create_topic("t", 2)
    assert producer.send("t", b"new", partition=0).offset == 0
    waiting = producer.send("t", b"waits", partition=1)
    store.logs.delete_topic("t")
    assert isinstance(waiting.exception(), UnknownTopicOrPartitionError)


def test_callbacks(store: Store) -> None:
    store.logs.create_topic("t", 1, {"max.message.bytes": 200})
    called: list[object] = []
    producer = store.logs.producer()
    producer.send("t", b"v").add_callback(called.append).add_errback(called.append)
    too_large = producer.send("t", b"v" * 500).add_callback(called.append).add_errback(called.append)
    assert called == []
    producer.flush()
    assert called[0] == ("t", 0, 0, NOW_MS) and isinstance(called[1], RecordTooLargeError)
    with pytest.raises(RecordTooLargeError, match=re.escape("expected at most max.message.bytes, 200")):
        too_large.result()
    producer.send("t", b"w").add_callback(lambda _: 1 / 0).result()  # logged, and no one else's business
    assert len(store.records("t")) == 2


def test_a_batch_that_the_topic_finds_too_large_is_split(store: Store) -> None:
    store.logs.create_topic("t", 1, {"max.message.bytes": 300})
    called: list[int] = []
    with store.logs.producer() as producer:
        futures = [producer.send("t", b"%03d" % number * 20, headers=[("h", b"v")]) for number in range(50)]
        for future in futures:
            future.add_callback(lambda metadata: called.append(metadata.offset))
    assert [future.offset for future in futures] == list(range(50))
    assert [record.value for record in store.records("t")] == [b"%03d" % number * 20 for number in range(50)]
    assert sorted(called) == list(range(50))
    table = walk(store.batches("t")).table
    assert table["base_sequence"].tolist() == table["base_offset"].tolist()


def test_log_append_time_is_the_futures_timestamp(store: Store) -> None:
    store.logs.create_topic("t", 1, {"message.timestamp.type": "LogAppendTime"})
    producer = store.logs.producer()
    assert producer.send("t", b"v", timestamp=5).timestamp == NOW_MS
    assert walk(store.batches("t")).table["attributes"][0] & LOG_APPEND_TIME


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
    (queue,) = producer._queues("t")
    queue.sequence_for(producer._identity.current[0], 0)
    queue.next_sequence = 2**31 - 2
    for _ in range(2):
        for _ in range(3):
            producer.send("t", b"v")
        producer.flush()
    assert walk(store.batches("t")).table["base_sequence"].tolist() == [2**31 - 2, 1]


def test_a_retry_does_not_duplicate(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """An append whose answer is lost is repeated with its sequence, and answered with the offsets that it has."""
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
    # Nobody knows whether the lost batch is in the log: the next one begins a new epoch.
    assert walk(store.batches("t")).table[["producer_epoch", "base_sequence"]].tolist() == [(1, 0)]


def test_a_log_that_forgot_batches_is_written_to_in_a_new_epoch(store: Store) -> None:
    store.logs.create_topic("t", 1)
    producer = store.logs.producer()
    for _ in range(3):
        producer.send("t", b"v").result()
    store.logs.truncate("t", 0, 1)
    assert producer.send("t", b"w").offset == 1
    assert walk(store.batches("t")).table[["producer_epoch", "base_sequence"]].tolist() == [(0, 0), (1, 0)]


def test_what_the_topic_refuses_fails_and_the_rest_goes_on(store: Store) -> None:
    store.logs.create_topic("t", 1, {"cleanup.policy": "compact"})
    with store.logs.producer() as producer:
        refused = producer.send("t", b"no key")
        assert isinstance(refused.exception(), InvalidBatchError)
        assert producer.send("t", b"v", b"k").offset == 0


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"value": b"v" * 2000}, RecordTooLargeError, "expected at most max.request.size, 1500"),
        ({"value": 5}, TypeError, "a value of type int, expected bytes, str or None"),
        ({"key": 5.0}, TypeError, "a key of type float"),
        ({"timestamp": -1}, InvalidTimestampError, "timestamp -1, expected 0 or more"),
        ({"partition": 2}, UnknownTopicOrPartitionError, "there is no partition t-2, expected 0 to 0"),
        ({"partition": -1}, UnknownTopicOrPartitionError, "there is no partition t--1"),
        ({"topic": "u"}, UnknownTopicOrPartitionError, "there is no topic u"),
    ],
)
def test_what_send_refuses(store: Store, given: dict[str, object], error: type[Exception], words: str) -> None:
    store.logs.create_topic("t", 1)
    producer = store.logs.producer(max_request_size=1500)
    with pytest.raises(error, match=re.escape(words)):
        producer.send(**{"topic": "t", **given})  # type: ignore[arg-type]
    assert producer.send("t", b"v" * 1400).offset == 0


def test_a_closed_producer_refuses(store: Store) -> None:
    store.logs.create_topic("t", 1)
    with store.logs.producer() as producer:
        future = producer.send("t", b"v")
    assert future.offset == 0
    producer.close()
    with pytest.raises(IllegalStateError, match="the producer is closed"):
        producer.send("t", b"v")


def test_closing_the_directory_appends_what_waits(store: Store) -> None:
    store.logs.create_topic("t", 1)
    producer = store.logs.producer()
    future = producer.send("t", b"v")
    store.logs.close()
    assert future.offset == 0
    assert len(store.records("t")) == 1


@pytest.mark.parametrize(
    ("configs", "is_idempotent", "delivery_timeout_ms"),
    [
        ({}, True, 120_000),
        ({"acks": "1"}, False, 120_000),
        ({"acks": "-1"}, True, 120_000),
        ({"retries": 0}, False, 120_000),
        ({"linger.ms": 100_000}, True, 130_000),
        ({"linger.ms": 2**63 - 1}, True, 2**31 - 1),
        ({"max.in.flight.requests.per.connection": 6, "enable.idempotence": False}, False, 120_000),
    ],
)
def test_what_is_not_given_gives_way(
    configs: dict[str, str | int], is_idempotent: bool, delivery_timeout_ms: int
) -> None:
    config = ProducerConfig.of(configs)
    assert (config.enable_idempotence, config.delivery_timeout_ms) == (is_idempotent, delivery_timeout_ms)


@pytest.mark.parametrize(
    ("configs", "words"),
    [
        ({"linger.sm": 5}, "linger.sm is not a producer config (did you mean linger.ms?)"),
        ({"batch.size": -1}, "batch.size is '-1', expected ≥ 0"),
        ({"compression.type": "brotli"}, "expected one of none, gzip, snappy, lz4, zstd"),
        ({"compression.zstd.level": 23}, "compression.zstd.level is '23', expected -131072 to 22"),
        ({"acks": "1", "enable.idempotence": "true"}, "acks is 1 with enable.idempotence, expected all"),
        ({"retries": "0", "enable.idempotence": "true"}, "retries is 0 with enable.idempotence, expected 1 or more"),
        ({"acks": "0", "transactional.id": "x"}, "enable.idempotence is false with a transactional.id, expected true"),
        ({"max.in.flight.requests.per.connection": 6}, "expected at most 5"),
        ({"delivery.timeout.ms": 30_004}, "expected at least linger.ms + request.timeout.ms, 30005"),
        ({"transactional.id": "x", "enable.idempotence": "false"}, "expected true"),
    ],
)
def test_configs_that_are_refused(store: Store, configs: dict[str, str | int], words: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(words)):
        store.logs.producer(configs)


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state", "__cluster_metadata"])
def test_internal_topics_are_refused_as_by_brokers(store: Store, topic: str) -> None:
    store.logs.create_topic(topic, 1)
    with pytest.raises(InvalidTopicError, match=f"topic {topic} is internal"):
        store.logs.producer().send(topic, b"v")
    admin = store.logs.producer(client_id="__admin_client")
    if topic == "__cluster_metadata":
        with pytest.raises(InvalidTopicError, match=f"topic {topic} is internal"):
            admin.send(topic, b"v")
    else:
        assert admin.send(topic, b"v").result().offset == 0


def test_headers_may_be_a_mapping(store: Store) -> None:
    store.logs.create_topic("t", 1)
    with store.logs.producer() as producer:
        producer.send("t", b"v", headers={"a": b"1", "b": "2", "c": None})
    assert store.records("t")[0].headers == (("a", b"1"), ("b", b"2"), ("c", None))


@pytest.mark.parametrize(
    ("headers", "problem"),
    [
        ([(None, b"1")], "a header key of type NoneType, expected str"),
        ({b"a": b"1"}, "a header key of type bytes, expected str"),
        (["ab"], "header 'ab' is not a pair of key and value"),
        ([("a", b"1", 2)], "is not a pair of key and value"),
        ({"a": 5}, "a header value of type int, expected bytes, str or None"),
    ],
)
def test_headers_that_are_none(store: Store, headers: Any, problem: str) -> None:
    store.logs.create_topic("t", 1)
    with store.logs.producer() as producer, pytest.raises(TypeError, match=problem):
        producer.send("t", b"v", headers=headers)


def test_making_a_producer_writes_nothing(tmp_path: Path) -> None:
    """A directory that is not there yet is made with the first topic, also if that is one of Kafka's own."""
    with octavo.LogDir(tmp_path / "a", background=False) as logs:
        producer = logs.producer()
        assert not (tmp_path / "a").exists()
        logs.create_topic("t", 1)
        assert producer.send("t", b"v").offset == 0
    with octavo.LogDir(tmp_path / "b", background=False) as logs:
        assert logs.producer(transactional_id="x")._identity.current[1] == 0


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
