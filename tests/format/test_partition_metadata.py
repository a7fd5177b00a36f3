"""The file partition.metadata: Kafka's text, and text that is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import CorruptionError, EncodingError
from octavo.format.small_files import partition_metadata
from octavo.format.small_files.partition_metadata import PartitionMetadata

KAFKA = b"version: 0\ntopic_id: AAAAAAAAAAEAAAAAAAAAAg"
TOPIC_ID = (1).to_bytes(8, "big") + (2).to_bytes(8, "big")


def test_kafkas_text_is_read_and_written() -> None:
    assert partition_metadata.decode(KAFKA) == PartitionMetadata(TOPIC_ID)
    assert partition_metadata.encode(PartitionMetadata(TOPIC_ID)) == KAFKA


@pytest.mark.parametrize("data", [KAFKA + b"\n", KAFKA + b"\nmore: 1", KAFKA.replace(b": ", b": \t")])
def test_text_that_kafka_reads_but_never_writes_is_read(data: bytes) -> None:
    assert partition_metadata.decode(data).topic_id == TOPIC_ID


def test_a_newer_version_is_read() -> None:
    metadata = partition_metadata.decode(KAFKA.replace(b"0", b"3", 1))
    assert metadata == PartitionMetadata(TOPIC_ID, 3)
    assert partition_metadata.decode(partition_metadata.encode(metadata)) == metadata


@pytest.mark.parametrize(
    ("data", "problem", "position"),
    [
        (b"", "expected two lines, found 0", 0),
        (b"version: 0", "expected two lines, found 1", 10),
        (b"version:0\ntopic_id: x", "expected '<name>: <value>', found 'version:0'", 0),
        (b"version: \ntopic_id: x", "expected '<name>: <value>'", 0),
        (b"version: x\ntopic_id: x", "expected a whole number", 0),
        (b"version: -1\ntopic_id: x", "of version -1, expected 0 or more", 0),
        (b"version: 0\ntopic_id", "expected '<name>: <value>'", 11),
        (b"version: 0\ntopic_id: a: b", "expected '<name>: <value>'", 11),
        (b"version: 0\ntopic_id: AAAA", "expected a uuid", 11),
        (b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", "the topic id is zero", 11),
        (b"version: 0\ntopic_id: \xff", "expected UTF-8 text", 21),
    ],
)
def test_wrong_text_is_refused(data: bytes, problem: str, position: int) -> None:
    with pytest.raises(CorruptionError, match=problem) as raised:
        partition_metadata.decode(data)
    assert raised.value.position == position


@pytest.mark.parametrize(
    "metadata",
    [
        PartitionMetadata(bytes(16)),
        PartitionMetadata(TOPIC_ID[1:]),
        PartitionMetadata(TOPIC_ID, -1),
        PartitionMetadata(TOPIC_ID, 2**31),
    ],
)
def test_metadata_that_cannot_be_written_is_refused(metadata: PartitionMetadata) -> None:
    with pytest.raises(EncodingError):
        partition_metadata.encode(metadata)


@given(st.binary(min_size=16, max_size=16).filter(any))
def test_what_is_written_is_read_again(topic_id: bytes) -> None:
    metadata = PartitionMetadata(topic_id)
    assert partition_metadata.decode(partition_metadata.encode(metadata)) == metadata
