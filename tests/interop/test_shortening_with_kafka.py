"""Retention and truncation of real partitions by Kafka's own log and by ours: the same files are left."""

from __future__ import annotations

import random
from pathlib import Path
from types import ModuleType

import pytest

from octavo.format.names import FileKind
from tests.golden.archives import unpack
from tests.interop.partition_files import contents, golden_copy, open_ours, open_theirs

pytestmark = pytest.mark.kafka

CASES = 3
PARTITIONS = ["codec.lz4-0", "compact.txn-open-0", "roll.by-time-0", "trimmed.topic-1", "txn.orders-1-0"]


@pytest.mark.parametrize("partition", PARTITIONS)
def test_retention_leaves_the_same_files(partition: str, tmp_path: Path, jvm: ModuleType) -> None:
    size = sum(path.stat().st_size for path in (unpack("v431-clean") / partition).glob(f"*{FileKind.LOG}"))
    for seed in range(CASES):
        rng = random.Random(f"{partition} {seed}")
        configs = {"retention.bytes": str(rng.randrange(size)), "cleanup.policy": "delete"}
        places = [
            golden_copy("v431-clean", partition, tmp_path / f"{side}{seed}" / partition, configs) for side in "ko"
        ]
        theirs, ours = open_theirs(jvm, places[0], clean=True), open_ours(places[1], clean=True)
        start = rng.randrange(ours.log_end_offset)
        theirs.log.updateHighWatermark(ours.log_end_offset)
        theirs.advance_log_start(start)
        ours.delete_records(start)
        theirs.log.deleteOldSegments()
        ours.retain()
        assert int(theirs.log.logStartOffset()) == ours.log_start_offset
        theirs.close()
        ours.close()
        assert contents(places[1].folder) == contents(places[0].folder), f"seed {seed}"


@pytest.mark.parametrize("partition", PARTITIONS)
def test_truncation_leaves_the_same_files(partition: str, tmp_path: Path, jvm: ModuleType) -> None:
    for seed in range(CASES):
        rng = random.Random(f"{partition} {seed}")
        places = [golden_copy("v431-clean", partition, tmp_path / f"{side}{seed}" / partition) for side in "ko"]
        theirs, ours = open_theirs(jvm, places[0], clean=True), open_ours(places[1], clean=True)
        offset = rng.randrange(ours.log_start_offset, ours.log_end_offset + 2)
        assert bool(theirs.log.truncateTo(offset)) == ours.truncate_to(offset)
        assert int(theirs.log.logEndOffset()) == ours.log_end_offset
        theirs.close()
        ours.close()
        # Kafka forgets the largest timestamp of a segment whose time index became empty.
        found = [
            {
                name: content
                for name, content in contents(place.folder).items()
                if not name.endswith(FileKind.TIME_INDEX)
            }
            for place in places
        ]
        assert found[1] == found[0], f"seed {seed}"
