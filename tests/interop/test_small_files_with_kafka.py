"""Real Kafka classes read the small files that we write, search indexes, and judge names and odd text as we do."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from octavo.errors import CorruptionError
from octavo.format import kafka_uuid
from octavo.format.indexes import offset_index, time_index
from octavo.format.indexes.offset_index import OffsetIndex
from octavo.format.indexes.time_index import TimeIndex
from octavo.format.java import properties as java_properties
from octavo.format.names import PartitionFolder, TopicPartition
from octavo.format.small_files import checkpoint, partition_metadata, producer_snapshot
from octavo.format.small_files.producer_snapshot import ProducerEntry

pytestmark = pytest.mark.kafka

LOG = "org.apache.kafka.storage.internals.log"
CHECKPOINT = "org.apache.kafka.storage.internals.checkpoint"


def words(pieces: Sequence[str], count: int, longest: int) -> list[str]:
    """Random texts made of the pieces, the same in every run."""
    source = random.Random(2026)
    return ["".join(source.choices(pieces, k=source.randint(1, longest))) for _ in range(count)]


def theirs(jvm: ModuleType, read: Callable[..., Any], *arguments: Any) -> Any:
    """What Kafka read; None if it refused."""
    try:
        return read(*arguments)
    except jvm.JException:
        return None


def ours(decode: Callable[..., Any], *arguments: Any) -> Any:
    """What we read; None if we refused."""
    try:
        return decode(*arguments)
    except CorruptionError:
        return None


def test_folder_names_are_parsed_as_kafka_parses_them(jvm: ModuleType) -> None:  # L1
    parse = jvm.JClass(f"{LOG}.UnifiedLog").parseTopicPartitionName
    for name in words(["a", "-", ".", "0", "7", "-delete", "-future", "-stray", " ", "+", "x-0", "x-0.9f"], 3000, 6):
        partition = theirs(jvm, parse, jvm.java.io.File("/", name))
        folder = ours(PartitionFolder.parse, name)
        expected = partition and (str(partition.topic()), int(partition.partition()))
        assert (folder and folder.topic_partition) == expected, name


def test_uuids_are_parsed_as_kafka_parses_them(jvm: ModuleType) -> None:
    parse = jvm.JClass("org.apache.kafka.common.Uuid").fromString
    for text in words(["A" * 10, "g", "_", "-", "=", "+", "é"], 3000, 8):
        uuid = theirs(jvm, parse, text)
        found = ours(kafka_uuid.from_text, text)
        assert (found and kafka_uuid.to_text(found)) == (uuid and str(uuid)), text


def test_properties_are_read_as_java_reads_them(jvm: ModuleType) -> None:
    for text in words([*"ab=: \t\f\n\r\\#!", "\\u0041", "\\u"], 3000, 12):
        if text.rstrip("\r\n").endswith("\\"):
            continue  # Java turns a lone backslash at the end into an empty property
        properties = jvm.java.util.Properties()
        data = jvm.java.io.ByteArrayInputStream(jvm.JArray(jvm.JByte)(text.encode()))
        try:
            properties.load(data)
        except jvm.JException:
            assert ours(java_properties.decode, text.encode()) is None, repr(text)
            continue
        expected = {str(key): str(properties.getProperty(key)) for key in properties.stringPropertyNames()}
        assert ours(java_properties.decode, text.encode()) == expected, repr(text)


def test_offset_checkpoints_are_read_as_kafka_reads_them(jvm: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    channel = jvm.JClass(f"{LOG}.LogDirFailureChannel")(10)
    read = jvm.JClass(f"{CHECKPOINT}.OffsetCheckpointFile")(jvm.java.io.File(str(path)), channel).read
    written = checkpoint.encode_offsets({TopicPartition("a", 0): 5, TopicPartition("b.c", 11): 77}).decode()
    pieces = ["0", "1", "\n", "\n", "\n", " ", "a 0 5", "b 1 7", "0\n1\n", "0\n2\n", "\r", "\t", "x", "-"]
    for text in [written, *words(pieces, 800, 7)]:
        path.write_bytes(text.encode())
        offsets = theirs(jvm, read)
        expected = None
        if offsets is not None:
            expected = {(str(key.topic()), int(key.partition())): int(offsets.get(key)) for key in offsets.keySet()}
        assert ours(checkpoint.decode_offsets, text.encode()) == expected, repr(text)


def test_partition_metadata_is_read_as_kafka_reads_it(jvm: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "partition.metadata"
    channel = jvm.JClass(f"{LOG}.LogDirFailureChannel")(10)
    read = jvm.JClass(f"{CHECKPOINT}.PartitionMetadataFile")(jvm.java.io.File(str(path)), channel).read
    text = "version: 0\ntopic_id: AAAAAAAAAAEAAAAAAAAAAg"
    pieces = ["version: 0", "\n", "topic_id: AAAAAAAAAAEAAAAAAAAAAg", " ", ":", ": ", "1", "-1", "\r", "x"]
    for content in [text, *(text + word for word in words(pieces, 300, 4)), *words(pieces, 500, 6)]:
        path.write_bytes(content.encode())
        metadata = theirs(jvm, read)
        found = ours(partition_metadata.decode, content.encode())
        expected = metadata and (str(metadata.topicId()), int(metadata.version()))
        assert (found and (kafka_uuid.to_text(found.topic_id), found.version)) == expected, repr(content)


def test_kafka_reads_our_producer_snapshots(jvm: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000103.snapshot"
    path.write_bytes(producer_snapshot.encode([ProducerEntry(4000, 3, 9, 102, 2, 1700000000005, 9, 100)]))
    (producer,) = jvm.JClass(f"{LOG}.ProducerStateManager").readSnapshot(jvm.java.io.File(str(path)))
    (batch,) = producer.batchMetadata()
    assert (int(producer.producerId()), int(producer.producerEpoch())) == (4000, 3)
    assert (int(batch.firstSeq()), int(batch.firstOffset()), int(producer.lastDataOffset())) == (7, 100, 102)
    assert (int(producer.lastTimestamp()), int(producer.coordinatorEpoch())) == (1700000000005, 9)
    assert int(producer.currentTxnFirstOffset().getAsLong()) == 100


def test_indexes_are_searched_as_kafka_does(jvm: ModuleType, tmp_path: Path) -> None:  # I2, I3, I4
    source = random.Random(2026)
    offsets = sorted(source.sample(range(1000, 60000), 3000))
    positions = sorted(source.sample(range(1, 2**31 - 1), 3000))
    timestamps = sorted(source.sample(range(10**12), 3000))
    index_path, time_path = tmp_path / "1000.index", tmp_path / "1000.timeindex"
    index_path.write_bytes(offset_index.encode(offsets, positions, 1000))
    time_path.write_bytes(time_index.encode(timestamps, offsets, 1000))
    index, times = OffsetIndex.decode(index_path.read_bytes(), 1000), TimeIndex.decode(time_path.read_bytes(), 1000)
    kafka_index = jvm.JClass(f"{LOG}.OffsetIndex")(jvm.java.io.File(str(index_path)), 1000)
    kafka_times = jvm.JClass(f"{LOG}.TimeIndex")(jvm.java.io.File(str(time_path)), 1000, 10485760)
    kafka_index.sanityCheck()
    kafka_times.sanityCheck()
    for target in [0, 999, 1000, 10**6, *source.sample(offsets, 200), *source.sample(range(60000), 200)]:
        found = kafka_index.lookup(target)
        assert index.lookup(target) == (int(found.offset()), int(found.position()))
    for target in [-1, 0, 10**13, *source.sample(timestamps, 200), *source.sample(range(10**12), 200)]:
        found = kafka_times.lookup(target)
        assert times.lookup(target) == (int(found.timestamp()), int(found.offset()))
