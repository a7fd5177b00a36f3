"""Recovery after kill -9 and after damage leaves what a real broker's recovery left, file by file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from octavo.config import LogConfig
from octavo.format.names import (
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    FileKind,
    PartitionFolder,
    TopicPartition,
)
from octavo.format.small_files import checkpoint
from octavo.storage.partition_log import PartitionLog
from octavo.storage.recovery.load import LoadRequest
from tests.golden.archives import entry, unpack
from tests.storage.worlds import World

PARTITIONS = sorted(f"{topic}-0" for topic in entry("v431-killed")["topics"])


def offsets(root: Path, name: str) -> dict[TopicPartition, int]:
    return checkpoint.decode_offsets((root / name).read_bytes()) if (root / name).exists() else {}


def recover(archive: str, partition: str, folder: Path) -> PartitionLog:
    """Load a copy of the partition as after an unclean stop, and close it."""
    source, parts = unpack(archive), PartitionFolder.parse(partition).topic_partition
    shutil.copytree(source / partition, folder)
    world = World()
    request = LoadRequest(
        folder=folder,
        config=LogConfig.of(entry("v431-killed")["topics"][parts.topic]["config"]),
        environment=world.environment,
        clean=False,
        log_start_offset=offsets(source, LOG_START_OFFSET_CHECKPOINT).get(parts, 0),
        recovery_point=offsets(source, RECOVERY_POINT_CHECKPOINT).get(parts, 0),
    )
    log = PartitionLog(request)
    log.close()
    world.scheduler.advance(LogConfig.of().file_delete_delay_ms)
    return log


def contents(folder: Path) -> dict[str, bytes]:
    kinds = tuple(FileKind)
    found = {path.name: path.read_bytes() for path in folder.iterdir() if path.name.endswith(kinds)}
    # Kafka creates an empty transaction index for some segments; a missing one means the same.
    return {name: data for name, data in found.items() if data or not name.endswith(FileKind.TXN_INDEX)}


@pytest.mark.parametrize("archive", ["v431-killed", "v431-torn"])
@pytest.mark.parametrize("partition", PARTITIONS)
def test_recovered_files_are_those_of_kafka(archive: str, partition: str, tmp_path: Path) -> None:
    recover(archive, partition, tmp_path / partition)
    assert contents(tmp_path / partition) == contents(unpack(f"{archive}-recovered") / partition)


def test_what_was_cut_is_reported(tmp_path: Path) -> None:
    cuts = {}
    for partition in PARTITIONS:
        for recovered in recover("v431-torn", partition, tmp_path / partition).recovered:
            if recovered.bytes_cut:
                cuts[partition] = (recovered.base_offset, recovered.size, recovered.bytes_cut, recovered.problem)
    assert cuts == {
        "crash.big-index-0": (0, 7881, 29, "an incomplete batch"),
        "crash.compacted-0": (237, 762, 813, "batch with base offset 250: its CRC is wrong"),
        "crash.plain-0": (213, 3851, 80, "an incomplete batch"),
        "crash.prealloc-0": (1855, 11289, 54247, "batch with base offset 2013: its CRC is wrong"),
        "crash.txn-0": (160, 0, 11, "an incomplete batch header"),
    }


@pytest.mark.parametrize("partition", PARTITIONS)
def test_recovery_of_what_was_recovered_changes_nothing(partition: str, tmp_path: Path) -> None:
    recover("v431-torn-recovered", partition, tmp_path / partition)
    assert contents(tmp_path / partition) == contents(unpack("v431-torn-recovered") / partition)
