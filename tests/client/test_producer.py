"""Sending records: batches by size and time, futures, callbacks, codecs, batches that are split."""

from __future__ import annotations

import re

import pytest

from octavo.errors import RecordTooLargeError
from octavo.format.batches.walker import walk
from octavo.format.record import Header
from octavo.kernels.layout import CODEC_MASK, LOG_APPEND_TIME
from tests.client.stores import Store
from tests.storage.worlds import NOW_MS

# Three records as Kafka's accumulator builds them: producer id 4000, epoch 0, base sequence 0.
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
    golden[12:16] = bytes(4)  # the leader epoch comes from the log
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
    assert table["count"].max() > 40 * 1.2  # the estimate has followed the batches' compression


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
    producer.send("t", b"w").add_callback(lambda _: 1 / 0).result()  # logged, and nobody else's business
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


def test_closing_the_directory_appends_what_waits(store: Store) -> None:
    store.logs.create_topic("t", 1)
    producer = store.logs.producer()
    future = producer.send("t", b"v")
    store.logs.close()
    assert future.offset == 0
    assert len(store.records("t")) == 1
