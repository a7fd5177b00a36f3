"""Exact counts: compared with what real clients read, and at the edges."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path

import pytest

from octavo.format.batches.batch import read_header
from octavo.format.compression import Codec
from octavo.format.legacy.message_set import encode_message_set
from octavo.format.names import TopicPartition
from octavo.format.record import Record
from octavo.jobs import count as job
from octavo.jobs.count import PartitionCount
from octavo.jobs.tally import Tally
from octavo.scanner.findings import ScanFindings
from octavo.scanner.log_dirs import Place, open_log_dirs
from octavo.system.runner import ThreadRunner
from tests.format.exact_batches import empty_batch
from tests.golden.archives import records, unpack
from tests.golden.client_records import WITH_RECORDS, log_dirs
from tests.scanner.segments import write_segment
from tests.storage.batches import batch

ORDERS = TopicPartition("orders", 0)


def count(*places: Place, split_bytes: int = job.SPLIT_BYTES) -> dict[TopicPartition, PartitionCount]:
    counts = job.TopicCounts(places, split_bytes=split_bytes)
    return {row.topic_partition: row for row in counts.rows(ThreadRunner(2))}


@pytest.mark.parametrize("split_bytes", [job.SPLIT_BYTES, 2000])
@pytest.mark.parametrize("name", WITH_RECORDS)
def test_counts_are_what_a_client_read(name: str, split_bytes: int) -> None:
    read: Counter[TopicPartition] = Counter()
    first: dict[TopicPartition, int] = {}
    largest: dict[TopicPartition, int] = {}
    for row in records(name):
        if row.get("isolation", "read_uncommitted") == "read_uncommitted":
            known, timestamp = TopicPartition(row["topic"], row["partition"]), row.get("timestamp", -1)
            read[known] += 1
            first.setdefault(known, timestamp)
            largest[known] = max(largest.get(known, -1), timestamp)
    counted = count(*log_dirs(name), split_bytes=split_bytes)
    topics = {topic for topic, _ in read}
    found = {known: row for known, row in counted.items() if known.topic in topics}
    assert {known: row.tally.records for known, row in found.items() if row.tally.records} == dict(read)
    assert {known: found[known].tally.first_timestamp for known in read} == first
    assert {known: found[known].tally.max_timestamp for known in read} == largest


def test_a_task_travels_to_another_process() -> None:
    partitions = open_log_dirs(unpack("v431-clean")).partitions.values()
    plans = job.plan(partitions, job.SPLIT_BYTES, ScanFindings())
    tasks = [task for planned in plans for task in planned.tasks]
    assert pickle.loads(pickle.dumps(tasks)) == tasks


def test_counting_begins_at_the_log_start(tmp_path: Path) -> None:
    batches = [batch(0, 5), batch(5, 5, timestamp=2000), batch(10, 5, timestamp=3000)]
    write_segment(tmp_path / "orders-0", 0, *batches)
    tmp_path.joinpath("log-start-offset-checkpoint").write_text("0\n1\norders 0 7\n")
    row = count(tmp_path)[ORDERS]
    assert (row.log_start_offset, row.log_end_offset, row.segments) == (7, 15, 1)
    assert (row.tally.batches, row.tally.records, row.tally.size) == (2, 8, len(batches[1]) + len(batches[2]))
    assert (row.tally.first_timestamp, row.tally.max_timestamp) == (2002, 3004)


def test_wrappers_are_opened(tmp_path: Path) -> None:
    messages = [Record(offset, 100 + offset, b"k", b"v") for offset in range(6)]
    wrapped = encode_message_set(messages, 1, codec=Codec.GZIP)
    plain = encode_message_set([Record(6, 50, None, b"v")], 0)
    write_segment(tmp_path / "old-0", 0, wrapped, plain)
    tmp_path.joinpath("log-start-offset-checkpoint").write_text("0\n1\nold 0 2\n")
    tally = count(tmp_path)[TopicPartition("old", 0)].tally
    assert (tally.batches, tally.records, tally.magics, tally.codecs) == (2, 5, {0, 1}, {0, 1})
    assert (tally.first_timestamp, tally.max_timestamp) == (102, 105)


def test_empty_batches_and_an_empty_partition_have_no_records(tmp_path: Path) -> None:
    emptied = empty_batch(read_header(batch(0, 5)))
    write_segment(tmp_path / "orders-0", 0, emptied)
    write_segment(tmp_path / "orders-1", 8)
    rows = count(tmp_path)
    tally = rows[ORDERS].tally
    assert (tally.batches, tally.records, tally.first_timestamp, tally.max_timestamp) == (1, 0, None, -1)
    assert (rows[ORDERS].log_end_offset, rows[TopicPartition("orders", 1)].log_end_offset) == (5, 8)
    assert rows[TopicPartition("orders", 1)].tally == Tally()


def test_a_damaged_batch_is_skipped_and_reported(tmp_path: Path) -> None:
    batches = [batch(0, 5), batch(5, 5), batch(10, 5)]
    path = write_segment(tmp_path / "orders-0", 0, *batches)
    content = bytearray(path.read_bytes())
    content[len(batches[0]) + 70] ^= 1
    path.write_bytes(content)
    tally = count(tmp_path)[ORDERS].tally
    assert (tally.records, tally.damage_count) == (10, 1)
    (note,) = tally.notes
    assert str(note).startswith(f"{path}: position {len(batches[0])}: ")


def test_a_partition_that_is_deleted_meanwhile_is_a_note(tmp_path: Path) -> None:
    for name in ("a-0", "b-0"):
        write_segment(tmp_path / name, 0, batch(0))
    counts = job.TopicCounts(tmp_path)
    (tmp_path / "a-0").rename(tmp_path / f"a-0.{'0' * 32}-delete")
    (row,) = counts.rows(ThreadRunner(2))
    (gone,) = counts.counted
    assert str(gone).startswith("a-0: not counted: ")
    assert row.tally.records == 1
