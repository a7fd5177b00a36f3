"""What live brokers answered to ListOffsets, compared with the answers of a log over a copy of their files."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import pytest

from octavo.config import LogConfig
from octavo.format.names import LOG_START_OFFSET_CHECKPOINT, TopicPartition
from octavo.format.record import SpecialTimestamp
from octavo.format.small_files import checkpoint
from octavo.storage.log.read import Isolation
from octavo.storage.partition_log import PartitionLog
from octavo.storage.recovery.load import LoadRequest
from tests.golden.archives import archives, entry, lookups_from_logs, unpack
from tests.storage.worlds import World

ARCHIVES = [name for name in archives() if "lookups" in entry(name)]
ISOLATIONS = {isolation.value: isolation for isolation in Isolation}


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_log_answers_as_the_broker_did(name: str, tmp_path: Path) -> None:  # I7
    root = unpack(name)
    starts = checkpoint.decode_offsets((root / LOG_START_OFFSET_CHECKPOINT).read_bytes())

    @cache
    def log_of(partition: TopicPartition) -> PartitionLog:
        folder = tmp_path / str(partition)
        shutil.copytree(root / str(partition), folder)
        start, world = starts.get(partition, 0), World()
        return PartitionLog(
            LoadRequest(
                folder=folder,
                config=LogConfig.of(),
                environment=world.environment,
                clean=True,
                log_start_offset=start,
            )
        )

    differing, answered = [], 0
    for row in lookups_from_logs(name):
        log = log_of(TopicPartition(row["topic"], row["partition"]))
        found = log.offset_for_timestamp(row["timestamp"], ISOLATIONS[row["isolation"]])
        answered += 1
        # A broker answers "latest" with its current leader epoch; loading drops an epoch without records.
        is_own = row["timestamp"] == SpecialTimestamp.LATEST or log.log_start_offset == log.log_end_offset
        answers_epoch = "leaderEpoch" in row and not is_own
        expected = (-1 if row["leaderEpoch"] is None else row["leaderEpoch"]) if answers_epoch else found.leader_epoch
        if found != (row["offset_timestamp"], row["offset"], expected):
            differing.append((row, found))
    assert differing == []
    assert answered > 50
