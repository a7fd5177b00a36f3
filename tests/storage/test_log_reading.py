"""Reading a partition's log, by offset and by timestamp."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.errors import OffsetOutOfRangeError
from octavo.format.batches.walker import walk
from octavo.format.legacy.message_set import encode_message_set
from octavo.format.record import Record, SpecialTimestamp
from octavo.storage.log.lookup import FoundOffset
from octavo.storage.log.read import Isolation
from octavo.storage.partition_log import PartitionLog
from tests.storage.batches import batch
from tests.storage.open_logs import SMALL, fill, offsets_read, open_log
from tests.storage.worlds import NOW_MS, World


class TestReading:
    def test_an_offset_out_of_range_is_refused(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path)
        fill(log, 3)
        log.delete_records(2)
        for offset in (-1, 1, 7):
            problem = f"offset {offset} is out of range: the log starts at 2 and ends before 6"
            with pytest.raises(OffsetOutOfRangeError, match=problem):
                log.read(offset, 100)

    def test_first_batch_comes_whole_unless_it_may_be_cut(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path)
        fill(log, 3)
        size = len(batch(0, 2))
        assert log.read(0, 1).size == size
        partial = log.read(0, 10, min_one_batch=False)
        assert (partial.size, partial.first_batch_incomplete) == (10, True)
        assert log.read(0, 0, min_one_batch=False).records is None

    def test_reading_stops_at_the_high_watermark(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path)
        log.is_sole_replica = False
        fill(log, 3)
        assert offsets_read(log) == []
        log.update_high_watermark(4)
        assert offsets_read(log) == [0, 2]
        assert offsets_read(log, isolation=Isolation.LOG_END) == [0, 2, 4]

    def test_high_watermark_inside_a_batch_counts_as_its_base(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path, {})
        log.is_sole_replica = False
        fill(log, 2, count=10)
        log.update_high_watermark(13)
        assert offsets_read(log) == [0]
        assert log.high_watermark == 10

    def test_a_fetched_range_outlives_its_segment(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path, {**SMALL, "retention.bytes": 0})
        fill(log, 3)
        fetched = log.read(0, 1 << 20)
        log.retain()
        world.scheduler.advance(60_000)
        assert walk(fetched.read()).table["base_offset"].tolist() == [0, 2, 4]


class TestLookup:
    @pytest.fixture
    def log(self, world: World, tmp_path: Path) -> PartitionLog:
        log = open_log(world, tmp_path)
        fill(log, 12, epoch=5)
        return log

    @pytest.mark.parametrize(
        ("timestamp", "expected"),
        [
            (0, FoundOffset(NOW_MS, 0, 5)),
            (NOW_MS + 1, FoundOffset(NOW_MS + 1, 1, 5)),
            (NOW_MS + 2, FoundOffset(NOW_MS + 1000, 2, 5)),
            (NOW_MS + 11_001, FoundOffset(NOW_MS + 11_001, 23, 5)),
            (NOW_MS + 11_002, FoundOffset(-1, -1, -1)),
            (SpecialTimestamp.LATEST, FoundOffset(-1, 24, 5)),
            (SpecialTimestamp.EARLIEST, FoundOffset(-1, 0, 5)),
            (SpecialTimestamp.EARLIEST_LOCAL, FoundOffset(-1, 0, 5)),
            (SpecialTimestamp.MAX_TIMESTAMP, FoundOffset(NOW_MS + 11_001, 23, 5)),
            (SpecialTimestamp.LATEST_TIERED, FoundOffset(-1, -1, -1)),
            (SpecialTimestamp.EARLIEST_PENDING_UPLOAD, FoundOffset(-1, -1, -1)),
        ],
    )
    def test_a_timestamp_leads_to_an_offset(self, log: PartitionLog, timestamp: int, expected: FoundOffset) -> None:
        assert log.offset_for_timestamp(timestamp) == expected

    def test_nothing_is_found_before_the_logs_start(self, log: PartitionLog) -> None:
        log.delete_records(3)
        assert log.offset_for_timestamp(0).offset == 3
        assert log.offset_for_timestamp(SpecialTimestamp.EARLIEST) == FoundOffset(-1, 3, 5)

    def test_nothing_is_found_after_what_can_be_read(self, log: PartitionLog) -> None:
        log.update_high_watermark(20)
        assert log.offset_for_timestamp(NOW_MS + 10_000).offset == -1
        assert log.offset_for_timestamp(NOW_MS + 10_000, Isolation.LOG_END).offset == 20
        assert log.offset_for_timestamp(SpecialTimestamp.LATEST, Isolation.LOG_END).offset == 24

    def test_timestamp_0_is_a_time_also_after_a_restart(self, world: World, tmp_path: Path) -> None:
        """The closing entry of the first segment's time index is then all zeros; Kafka gives the same answer."""
        configs = {**SMALL, "segment.bytes": 300}
        log = open_log(world, tmp_path, configs)
        for timestamp in (0, 1000, 2000):
            log.append_as_leader(batch(0, timestamp=timestamp, value_bytes=150), leader_epoch=0)
        log.close()
        log = open_log(world, tmp_path, configs)
        assert [log.offset_for_timestamp(timestamp).offset for timestamp in (0, 1, 500, 2000)] == [0, 1, 1, 2]
        assert log.segments.first.largest_timestamp == 0

    def test_nothing_is_found_in_a_log_without_records(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path)
        assert log.offset_for_timestamp(0).offset == -1
        assert log.offset_for_timestamp(SpecialTimestamp.MAX_TIMESTAMP).offset == -1
        assert log.offset_for_timestamp(SpecialTimestamp.LATEST) == FoundOffset(-1, 0, -1)

    def test_max_timestamp_finds_a_record_without_a_timestamp_unless_it_is_v0(
        self, world: World, tmp_path: Path
    ) -> None:
        log = open_log(world, tmp_path)
        log.append_as_follower(batch(0, timestamp=-1), leader_epoch=5)
        assert log.offset_for_timestamp(SpecialTimestamp.MAX_TIMESTAMP, Isolation.LOG_END) == FoundOffset(-1, 0, 0)
        log.truncate_fully(0)
        log.append_as_follower(encode_message_set([Record(0, -1, None, b"old")], 0), leader_epoch=5)
        assert log.offset_for_timestamp(SpecialTimestamp.MAX_TIMESTAMP, Isolation.LOG_END).offset == -1
