"""What live brokers answered to requests for offsets, compared with what a lookup finds in their directories."""

from __future__ import annotations

import pytest

from octavo.format.names import TopicPartition
from octavo.scanner.log_dirs import open_log_dirs
from octavo.scanner.lookup.lookup import find_timestamp
from octavo.scanner.partition.snapshot import take_snapshot
from octavo.scanner.partition.transactions import read_transactions
from tests.golden.archives import archives, entry, lookups_from_logs, unpack

ARCHIVES = [name for name in archives() if "lookups" in entry(name)]


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_lookup_answers_as_the_broker_did(name: str) -> None:  # I7
    partitions = open_log_dirs(unpack(name)).partitions
    snapshots = {topic_partition: take_snapshot(files) for topic_partition, files in partitions.items()}
    stable = {known: read_transactions(snapshot).last_stable_offset for known, snapshot in snapshots.items()}
    differing = []
    answered = 0
    for row in lookups_from_logs(name):
        if row["timestamp"] < -3:  # about tiered storage
            continue
        known = TopicPartition(row["topic"], row["partition"])
        end = stable[known] if row["isolation"] == "read_committed" else snapshots[known].log_end_offset
        found = find_timestamp(snapshots[known], row["timestamp"], end)
        with_time = row["timestamp"] >= 0 or row["timestamp"] == -3
        answer = (found.offset, found.timestamp) if with_time else (found.offset, row["offset_timestamp"])
        answered += 1
        if answer != (row["offset"], row["offset_timestamp"]):
            differing.append((row, found))
    assert differing == []
    assert answered > 50
