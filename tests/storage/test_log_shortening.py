"""A partition's log cut at both ends: retention, DeleteRecords, truncation."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.config import LogConfig
from octavo.errors import OffsetOutOfRangeError, PolicyViolationError
from octavo.format.batches.batch import Origin
from tests.storage.batches import batch
from tests.storage.open_logs import SMALL, fill, names, offsets_read, open_log
from tests.storage.worlds import World


class TestRetention:
    # C3: when every segment has expired, a new active segment is rolled first
    # C4: renamed to .deleted, indexes too, and removed after file.delete.delay.ms
    def test_a_log_whose_segments_have_all_expired_goes_on_with_an_empty_one(
        self, world: World, tmp_path: Path
    ) -> None:
        log = open_log(world, tmp_path, {**SMALL, "retention.ms": 1000})
        fill(log, 12)
        world.clock.advance(100_000)
        log.retain()
        assert log.segments.base_offsets == (24,)
        assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (24, 24, 24)
        assert "00000000000000000000.log.deleted" in names(tmp_path)
        assert "00000000000000000000.index.deleted" in names(tmp_path)
        world.scheduler.advance(59_999)
        assert "00000000000000000000.log.deleted" in names(tmp_path)
        world.scheduler.advance(1)
        assert not any("deleted" in name for name in names(tmp_path))
        fill(log, 1)
        assert offsets_read(log, 24) == [24]

    # C2: by the largest timestamp of its records, not by the file's modification time
    def test_segments_expire_by_their_largest_timestamp(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path, {**SMALL, "retention.ms": 1000})
        fill(log, 12)
        second = log.segments.base_offsets[1]
        world.clock.now_ms = log.segments.first.largest_timestamp + 1001
        found = log.retain(dry_run=True)
        assert [verdict.base_offset for verdict in found if verdict.reason] == [0]
        assert log.log_start_offset == 0
        log.retain()
        assert (log.log_start_offset, log.segments.first.base_offset) == (second, second)

    # C6: logStartOffset moves by DeleteRecords; segments before it go
    def test_retention_removes_segments_whose_records_were_all_deleted(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path)
        fill(log, 12)
        bases = log.segments.base_offsets
        assert log.delete_records(bases[2] + 1) == bases[2] + 1
        assert log.segments.base_offsets == bases
        log.retain()
        assert log.segments.base_offsets == bases[2:]
        assert log.delete_records(-1) == 24
        assert log.delete_records(3) == 24
        for offset in (-2, 25):
            with pytest.raises(OffsetOutOfRangeError):
                log.delete_records(offset)

    def test_delete_records_needs_the_delete_policy(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path, {**SMALL, "cleanup.policy": "compact"})
        with pytest.raises(PolicyViolationError, match=r"cleanup\.policy is compact"):
            log.delete_records(0)

    # C5
    def test_retention_by_size_removes_the_oldest_segment(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path)
        fill(log, 12)
        sizes = [segment.size for segment in log.segments]
        log.configure(LogConfig.of({**SMALL, "retention.bytes": log.size - sizes[0]}))
        log.retain()
        assert [segment.size for segment in log.segments] == sizes[1:]


class TestTruncation:
    def test_a_truncation_inside_an_earlier_segment_cuts_it(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path)
        fill(log, 6, epoch=0)
        fill(log, 6, epoch=1)
        log.flush()
        assert log.truncate_to(9)
        assert (log.log_end_offset, log.high_watermark, log.recovery_point) == (9, 9, 9)
        assert offsets_read(log) == [0, 2, 4, 6]
        assert log.epochs.entries == ((0, 0),)
        log.append_as_follower(batch(9, 1))
        assert offsets_read(log, 8) == [9]
        assert not log.truncate_to(10)

    def test_a_truncation_before_the_first_segment_leaves_an_empty_log(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path)
        log.append_as_follower(batch(50, 2))
        log.truncate_fully(50)
        assert (log.log_start_offset, log.log_end_offset, log.segments.base_offsets) == (50, 50, (50,))
        assert log.truncate_to(50) is False
        log.append_as_follower(batch(50, 2))
        assert log.truncate_to(10)
        assert (log.log_start_offset, log.log_end_offset, log.segments.base_offsets) == (10, 10, (10,))
        world.scheduler.advance(60_000)
        assert [name for name in names(tmp_path) if name.endswith(".log")] == ["00000000000000000010.log"]

    def test_a_truncation_brings_back_the_earlier_state_of_producers(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path)
        producer = Origin(producer_id=9, producer_epoch=0, base_sequence=0)
        log.append_as_leader(batch(0, 2, origin=producer), leader_epoch=0)
        second = Origin(producer_id=9, producer_epoch=0, base_sequence=2)
        log.append_as_leader(batch(0, 2, origin=second), leader_epoch=0)
        log.truncate_to(2)
        result = log.append_as_leader(batch(0, 2, origin=second), leader_epoch=0)
        assert (result.first_offset, result.is_duplicate) == (2, False)
