"""Targets for the indexes and small files of a log directory, for names, uuids and variable-length integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from octavo.errors import CorruptionError
from octavo.format import kafka_uuid, names
from octavo.format.indexes import txn_index
from octavo.format.indexes.offset_index import OffsetIndex
from octavo.format.indexes.time_index import TimeIndex
from octavo.format.java import properties as java_properties
from octavo.format.small_files import (
    checkpoint,
    clean_shutdown,
    leader_epochs,
    meta_properties,
    partition_metadata,
    producer_snapshot,
    quorum_state,
)
from octavo.format.varint import decode_uvarint, decode_varint, decode_varlong
from tests.fuzz import seeds
from tests.fuzz.sealing import seal_snapshot
from tests.fuzz.target import Target, mutating

BASE_OFFSET = 1000


def run_offset_index(data: bytes) -> None:
    index = OffsetIndex.decode(data, BASE_OFFSET)
    assert len(list(index)) == len(index) == len(data) // 8
    for offset in (0, BASE_OFFSET, BASE_OFFSET + 7, 1 << 40):
        index.lookup(offset)
        assert 0 <= index.slots_below(offset) <= len(index)
        index.upper_bound(offset)
    assert len(index.used()) + index.zero_tail() == len(index)
    index.last()
    index.sanity_check()


def run_time_index(data: bytes) -> None:
    index = TimeIndex.decode(data, BASE_OFFSET)
    assert len(list(index)) == len(index) == len(data) // 12
    for timestamp in (-1, 0, 1_700_000_000_000, 1 << 62):
        index.lookup(timestamp)
    assert len(index.used()) + index.zero_tail() == len(index)
    index.last()
    index.sanity_check()


def run_txn_index(data: bytes) -> None:
    aborted = txn_index.decode(data).aborted
    txn_index.search(aborted, 50, 150)
    txn_index.sanity_check(aborted, 10)


def run_producer_snapshot(data: bytes) -> None:
    """What was accepted can be written, and reads the same again."""
    producers = producer_snapshot.decode(data)
    assert producer_snapshot.decode(producer_snapshot.encode(producers)) == producers


def run_names(data: bytes) -> None:
    """Parse as a folder's name and as a file's; refused if it is neither."""
    name = data.decode("utf-8", "surrogateescape")
    names.SegmentFile.parse(name)
    names.KRaftSnapshot.parse(name)
    names.topic_problem(name)
    parsers = (names.PartitionFolder.parse, names.base_offset_of, names.snapshot_id_of, names.is_ignored_folder)
    errors = []
    for parse in parsers:
        try:
            parse(name)
        except CorruptionError as found:
            errors.append(found)
    if len(errors) == len(parsers):
        raise errors[0]


def run_uuid(data: bytes) -> None:
    uuid = kafka_uuid.from_text(data.decode("utf-8", "surrogateescape"))
    assert kafka_uuid.from_text(kafka_uuid.to_text(uuid)) == uuid


def run_varints(data: bytes) -> None:
    for decode in (decode_uvarint, decode_varint, decode_varlong):
        decode(data, 0)


def text_file(name: str, pattern: str, run: Callable[[bytes], Any]) -> Target:
    return Target(name, mutating(lambda: seeds.files(pattern), text=True), run)


def uuids() -> list[bytes]:
    return [b"AAAAAAAAAAEAAAAAAAAAAg", b"_-_-abcdefghijklmnop_Q", b"AAAAAAAAAAAAAAAAAAAAAA"]


def numbers() -> list[bytes]:
    return [b"\0", b"\x01", b"\x7f", b"\xac\x02", b"\xff\xff\xff\xff\x0f", b"\xff" * 9 + b"\x01"]


FILE_TARGETS = [
    Target("offset-index", mutating(lambda: seeds.files("*.index")), run_offset_index),
    Target("time-index", mutating(lambda: seeds.files("*.timeindex")), run_time_index),
    Target("txn-index", mutating(lambda: seeds.files("*.txnindex")), run_txn_index),
    Target("producer-snapshot", mutating(lambda: seeds.files("*.snapshot"), seal=seal_snapshot), run_producer_snapshot),
    text_file("checkpoint", "*-checkpoint", checkpoint.decode_offsets),
    text_file("leader-epochs", "leader-epoch-checkpoint", leader_epochs.decode),
    text_file("partition-metadata", "partition.metadata", partition_metadata.decode),
    text_file("meta-properties", "meta.properties", meta_properties.decode),
    text_file("java-properties", "meta.properties", java_properties.decode),
    text_file("clean-shutdown", ".kafka_cleanshutdown", clean_shutdown.decode),
    text_file("quorum-state", "quorum-state", quorum_state.decode),
    Target("names", mutating(seeds.names, text=True), run_names),
    Target("uuid", mutating(uuids, text=True), run_uuid),
    Target("varint", mutating(numbers), run_varints),
]
