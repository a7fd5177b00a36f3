"""Producer and consumer compared with the classes of Kafka's own clients and coordinators."""

from __future__ import annotations

import random
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from octavo.client.producer.encode import encode_headers, upper_bound
from octavo.client.producer.partitioner import partitions_for_keys
from octavo.client.producer.parts import CompressionRatios
from octavo.coordinator.groups.assignors import range_assignor, roundrobin_assignor
from octavo.coordinator.groups.offsets import OffsetAndMetadata
from octavo.format.batches.row_columns import from_records
from octavo.format.batches.walker import walk
from octavo.format.names import TopicPartition
from octavo.format.record import Record
from octavo.kernels.layout import ATTRIBUTES_POSITION
from tests.client.stores import Store
from tests.storage.worlds import NOW_MS

pytestmark = pytest.mark.kafka

_RECORD = "org.apache.kafka.common.record.internal"
Sent = tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]


def java_bytes(jvm: ModuleType, content: bytes | None) -> Any:
    return None if content is None else jvm.JArray.of(content, jvm.JByte)


def random_records(seed: int, count: int) -> list[Sent]:
    chosen = random.Random(seed)

    def content(longest: int) -> bytes | None:
        return None if chosen.random() < 0.2 else chosen.randbytes(chosen.randrange(longest))

    def headers() -> list[tuple[str, bytes | None]]:
        return [(chosen.choice(["h", "längerer Name"]), content(9)) for _ in range(chosen.choice([0, 0, 1, 3]))]

    return [(NOW_MS + chosen.randrange(-200, 200), content(12), content(150), headers()) for _ in range(count)]


def kafkas_batches(jvm: ModuleType, records: list[Sent], batch_size: int, codec: str, topic: str) -> list[Any]:
    """What Kafka's accumulator makes of the records: its own batches, filled by its own rule."""
    compression = getattr(jvm.JClass("org.apache.kafka.common.compress.Compression"), codec)().build()
    memory_records = jvm.JClass(f"{_RECORD}.MemoryRecords")
    create_time = jvm.JClass("org.apache.kafka.common.record.TimestampType").CREATE_TIME
    header_type = jvm.JClass("org.apache.kafka.common.header.internals.RecordHeader")
    header_array = jvm.JArray(jvm.JClass("org.apache.kafka.common.header.Header"))
    batch_type = jvm.JClass("org.apache.kafka.clients.producer.internals.ProducerBatch")
    place = jvm.JClass("org.apache.kafka.common.TopicPartition")(topic, 0)
    bytes_type, batches = jvm.JArray(jvm.JByte), list[Any]()
    for timestamp, key, value, headers in records:
        given = header_array([header_type(name, java_bytes(jvm, content)) for name, content in headers])
        fields = jvm.JLong(timestamp), java_bytes(jvm, key), java_bytes(jvm, value), given, None, jvm.JLong(0)
        if batches and batches[-1].tryAppend(*fields) is not None:
            continue
        bound = jvm.JClass(f"{_RECORD}.AbstractRecords").estimateSizeInBytesUpperBound(
            jvm.JByte(2), compression.type(), bytes_type @ fields[1], bytes_type @ fields[2], given
        )
        assert bound == upper_bound(key, value, encode_headers(headers))
        buffer = jvm.java.nio.ByteBuffer.allocate(max(batch_size, int(bound)))
        builder = memory_records.builder(buffer, jvm.JByte(2), compression, create_time, jvm.JLong(0))
        batches.append(batch_type(place, builder, jvm.JLong(0)))
        assert batches[-1].tryAppend(*fields) is not None
    return batches


def closed(batch: Any) -> bytes:
    batch.close()
    buffer = batch.records().buffer()
    return bytes(buffer.get() & 0xFF for _ in range(buffer.remaining()))


@pytest.mark.parametrize("batch_size", [1, 100, 500, 16384])
def test_batches_are_those_of_kafkas_accumulator(jvm: ModuleType, tmp_path: Path, batch_size: int) -> None:  # T3
    records = random_records(batch_size, 250)
    store = Store(tmp_path)
    store.logs.create_topic("t", 1)
    with store.logs.producer(batch_size=batch_size, enable_idempotence=False) as producer:
        for timestamp, key, value, headers in records:
            producer.send("t", value, key, headers, timestamp=timestamp)
    ours, expected = store.batches("t"), kafkas_batches(jvm, records, batch_size, "none", "t")
    for row, batch in zip(walk(ours).table, expected, strict=True):
        data = ours[row["position"] : row["position"] + row["size"]]
        # The log assigns offset and leader epoch; the CRC and everything it covers come from the producer.
        assert data[ATTRIBUTES_POSITION - 5 :] == closed(batch)[ATTRIBUTES_POSITION - 5 :]
    store.logs.close()


def test_compressed_batches_are_estimated_as_kafka_does(jvm: ModuleType, tmp_path: Path) -> None:
    """Until the first batch ends both estimate 1.0; from then on the estimate depends on the codec library."""
    records = random_records(5, 60)
    store = Store(tmp_path)
    store.logs.create_topic("t", 1)
    with store.logs.producer(batch_size=1000, compression_type="gzip") as producer:
        for timestamp, key, value, headers in records:
            producer.send("t", value, key, headers, timestamp=timestamp)
    first = kafkas_batches(jvm, records, 1000, "gzip", f"estimate-{tmp_path.name}")[0]
    assert walk(store.batches("t")).table[0]["count"] == walk(closed(first)).table[0]["count"]
    store.logs.close()


def test_the_compression_ratio_is_estimated_as_kafka_does(jvm: ModuleType) -> None:
    estimator, types = jvm.JClass(f"{_RECORD}.CompressionRatioEstimator"), jvm.JClass(f"{_RECORD}.CompressionType")
    chosen, ratios = random.Random(3), CompressionRatios()
    for _ in range(300):
        observed = float(np.float32(chosen.uniform(0.05, 1.3)))
        estimator.updateEstimation("ratio-topic", types.LZ4, jvm.JFloat(observed))
        ratios.update("t", observed)
        assert ratios.of("t") == pytest.approx(float(estimator.estimation("ratio-topic", types.LZ4)), abs=1e-4)


def test_keys_go_to_the_partitions_that_kafka_chooses(jvm: ModuleType) -> None:
    partitioner = jvm.JClass("org.apache.kafka.clients.producer.internals.BuiltInPartitioner")
    chosen = random.Random(4)
    for _ in range(500):
        key, partitions = chosen.randbytes(chosen.randrange(40)), chosen.randrange(1, 200)
        expected = partitioner.partitionForKey(java_bytes(jvm, key), jvm.JInt(partitions))
        column = from_records([Record(0, 0, key, None)]).key
        assert column is not None
        assert partitions_for_keys(column, 1, partitions).tolist() == [expected]


@pytest.mark.parametrize(("name", "ours"), [("Range", range_assignor), ("RoundRobin", roundrobin_assignor)])
def test_assignors_share_out_as_kafkas_do(jvm: ModuleType, name: str, ours: Any) -> None:
    assignor = jvm.JClass(f"org.apache.kafka.clients.consumer.{name}Assignor")()
    subscription = jvm.JClass("org.apache.kafka.clients.consumer.ConsumerPartitionAssignor$Subscription")
    chosen = random.Random(6)
    for _ in range(60):
        counts = {topic: chosen.randrange(1, 9) for topic in "tuv"}
        members = {
            f"m{number}": frozenset(chosen.sample("tuv", chosen.randrange(1, 4)))
            for number in range(chosen.randrange(1, 6))
        }
        infos, subscriptions = jvm.java.util.HashMap(), jvm.java.util.HashMap()
        for topic, count in counts.items():
            infos.put(jvm.JString(topic), jvm.java.lang.Integer(count))
        for member, topics in members.items():
            names = jvm.java.util.ArrayList([jvm.JString(topic) for topic in sorted(topics)])
            subscriptions.put(jvm.JString(member), subscription(names))
        found = {
            str(entry.getKey()): sorted(
                TopicPartition(str(place.topic()), int(place.partition())) for place in entry.getValue()
            )
            for entry in assignor.assign(infos, subscriptions).entrySet()
        }
        partitions = {topic: range(count) for topic, count in counts.items()}
        assert {member: sorted(names) for member, names in ours(members, partitions, {}).items()} == found


def test_kafkas_coordinator_reads_our_commits(jvm: ModuleType, tmp_path: Path) -> None:  # L5
    store = Store(tmp_path)
    topic_id = store.logs.create_topic("t", 1)
    offset = OffsetAndMetadata(42, "näher", 7)
    store.logs.consumer(group="my-group").commit({("t", 0): offset})
    (record,) = store.records("__consumer_offsets")
    assert record.partition == 12  # one of 50, chosen by the group's hash
    serde = jvm.JClass("org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde")()
    wrap = jvm.java.nio.ByteBuffer.wrap
    read = serde.deserialize(wrap(java_bytes(jvm, record.key)), wrap(java_bytes(jvm, record.value)))
    key, value = read.key(), read.value().message()
    assert (str(key.group()), str(key.topic()), int(key.partition())) == ("my-group", "t", 0)
    assert (int(value.offset()), str(value.metadata()), int(value.leaderEpoch())) == offset
    assert int(value.commitTimestamp()) == NOW_MS and int(value.expireTimestamp()) == -1
    most, least = int(value.topicId().getMostSignificantBits()), int(value.topicId().getLeastSignificantBits())
    assert most.to_bytes(8, signed=True) + least.to_bytes(8, signed=True) == topic_id
    store.logs.close()


def test_kafkas_coordinator_reads_our_transactions(jvm: ModuleType, tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.logs.create_topic("t", 2)
    producer = store.logs.producer(transactional_id="x")
    with producer.transaction():
        producer.send("t", b"v", partition=1)
    generated = "org.apache.kafka.coordinator.transaction.generated.TransactionLog"
    accessor = jvm.JClass("org.apache.kafka.common.protocol.ByteBufferAccessor")
    states = []
    for record in store.records("__transaction_state"):
        assert record.key is not None and record.value is not None
        buffer = jvm.java.nio.ByteBuffer.wrap(java_bytes(jvm, record.value))
        value = jvm.JClass(f"{generated}Value")(accessor(buffer), buffer.getShort())
        listed = value.transactionPartitions()
        named = None if listed is None else [(str(one.topic()), list(map(int, one.partitionIds()))) for one in listed]
        states.append((int(value.transactionStatus()), int(value.producerEpoch()), named))
        assert int(value.transactionTimeoutMs()) == 60_000
    assert states == [(0, 0, None), (1, 0, [("t", [1])]), (2, 1, [("t", [1])]), (4, 1, [])]
    store.logs.close()
