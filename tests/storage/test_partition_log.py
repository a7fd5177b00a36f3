"""A partition's log as its owner uses it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from octavo.config import Given, LogConfig
from octavo.errors import KafkaStorageError, OffsetOutOfRangeError, PolicyViolationError, UnexpectedAppendOffsetError
from octavo.format.batch import Origin
from octavo.format.control import ControlType, EndTransactionMarker, build_marker_batch
from octavo.format.walker import walk
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.load import LoadRequest
from octavo.storage.lookup import FoundOffset, SpecialTimestamp
from octavo.storage.partition_log import PartitionLog
from octavo.storage.read import AbortedTransaction, Isolation
from tests.storage.batches import batch
from tests.storage.worlds import NOW_MS, World

SMALL = {"segment.bytes": 1000, "index.interval.bytes": 200, "retention.ms": -1}


@pytest.fixture
def world() -> World:
    return World()


def open_log(
    world: World,
    folder: Path,
    configs: Mapping[str, Given] = SMALL,
    *,
    clean: bool = True,
    log_start_offset: int = 0,
    recovery_point: int = 0,
) -> PartitionLog:
    return PartitionLog(
        LoadRequest(
            folder=folder / "t-0",
            config=LogConfig.of(configs),
            environment=world.environment,
            clean=clean,
            log_start_offset=log_start_offset,
            recovery_point=recovery_point,
        )
    )


def fill(log: PartitionLog, batches: int, *, count: int = 2, timestamp: int = NOW_MS, epoch: int = 0) -> None:
    """Append batches of records of 100 bytes, a second apart."""
    for number in range(batches):
        log.append_as_leader(batch(0, count, timestamp=timestamp + 1000 * number), leader_epoch=epoch)


def offsets_read(log: PartitionLog, start: int = 0, isolation: Isolation = Isolation.READ_UNCOMMITTED) -> list[int]:
    """The base offsets of all batches from an offset on."""
    found: list[int] = []
    while True:
        fetched = log.read(start, 1 << 20, isolation)
        table = walk(fetched.read()).table
        if not len(table):
            return found
        found += table["base_offset"].tolist()
        start = int(table[-1]["base_offset"] + table[-1]["last_offset_delta"]) + 1


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "t-0").iterdir())


def test_append_assigns_offsets_and_raises_the_watermark(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path)
    first = log.append_as_leader(batch(0, 3), leader_epoch=4)
    second = log.append_as_leader(batch(0, 2), leader_epoch=4)
    assert (first.first_offset, first.last_offset) == (0, 2)
    assert (second.first_offset, second.last_offset) == (3, 4)
    assert (log.log_end_offset, log.high_watermark, log.last_stable_offset, log.latest_epoch) == (5, 5, 5, 4)
    assert offsets_read(log) == [0, 3]


def test_rolls_and_reads_across_segments(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path)
    fill(log, 12)
    assert len(log.segments) > 2
    assert offsets_read(log) == list(range(0, 24, 2))
    assert offsets_read(log, 7) == list(range(6, 24, 2))
    assert offsets_read(log, 24) == []
    assert sum(path.name.endswith(".snapshot") for path in (tmp_path / "t-0").iterdir()) == len(log.segments) - 1


# D1: writes go to the page cache; a roll, flush() or flush.messages move the recovery point
def test_recovery_point_moves_with_flushes_only(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path)
    fill(log, 2)
    assert log.recovery_point == 0
    log.flush()
    assert log.recovery_point == 4
    fill(log, 10)
    assert log.recovery_point == 4
    world.scheduler.run_due()
    assert log.recovery_point == log.segments.active.base_offset


# D1
def test_flush_messages_forces_a_flush(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path, {"flush.messages": 3})
    fill(log, 1)
    assert log.recovery_point == 0
    fill(log, 1)
    assert log.recovery_point == 4


def test_follower_keeps_offsets_and_refuses_old_ones(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path)
    log.append_as_follower(batch(10, 2, epoch=1) + batch(20, 1, epoch=2))
    assert (log.log_end_offset, log.state.epochs.entries) == (21, ((1, 10), (2, 20)))
    with pytest.raises(UnexpectedAppendOffsetError, match="offsets 20 to 20"):
        log.append_as_follower(batch(20))
    assert offsets_read(log) == [10, 20]


def test_follower_skips_batches_of_later_epochs(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path)
    log.append_as_follower(batch(0, epoch=1) + batch(1, epoch=2), leader_epoch=1)
    assert log.log_end_offset == 1
    nothing = log.append_as_follower(batch(1, epoch=2), leader_epoch=1)
    assert (nothing.first_offset, nothing.last_offset, log.log_end_offset) == (-1, -1, 1)


def test_restart_after_a_clean_stop(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path)
    fill(log, 12, epoch=3)
    log.close()
    with pytest.raises(KafkaStorageError, match="it is closed"):
        log.append_as_leader(batch(0), leader_epoch=3)
    before = {path.name: path.read_bytes() for path in (tmp_path / "t-0").iterdir()}
    again = open_log(world, tmp_path)
    assert (again.log_end_offset, again.recovery_point, again.latest_epoch) == (24, 24, 3)
    again.close()
    assert {path.name: path.read_bytes() for path in (tmp_path / "t-0").iterdir()} == before


def test_restart_after_a_crash_rebuilds_the_same_files(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path)
    fill(log, 12)
    again = open_log(world, tmp_path, clean=False)
    assert [recovered.bytes_cut for recovered in again.recovered] == [0] * len(log.segments)
    again.close()
    rebuilt = {path.name: path.read_bytes() for path in (tmp_path / "t-0").iterdir()}
    log.close()
    assert {path.name: path.read_bytes() for path in (tmp_path / "t-0").iterdir()} == rebuilt


def test_torn_tail_is_cut_even_after_a_clean_stop(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path)
    fill(log, 3)
    log.close()
    path = log.segments.active.files.log.path
    path.write_bytes(path.read_bytes() + batch(6)[:-1])
    again = open_log(world, tmp_path)
    assert [recovered.problem for recovered in again.recovered] == ["a batch is cut off"]
    again.append_as_leader(batch(0), leader_epoch=0)
    assert offsets_read(again)[-1] == again.log_end_offset - 1


def test_damage_in_the_middle_deletes_what_follows(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path)
    fill(log, 12)
    log.close()
    second = list(log.segments)[1]
    content = bytearray(second.files.log.path.read_bytes())
    content[-1] ^= 1
    second.files.log.path.write_bytes(content)
    again = open_log(world, tmp_path, clean=False)
    assert again.log_end_offset < list(log.segments)[2].base_offset
    assert offsets_read(again) == list(range(0, again.log_end_offset, 2))
    world.scheduler.advance(60_000)
    assert not any(name.endswith(".deleted") for name in names(tmp_path))


def test_lost_indexes_are_rebuilt(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path)
    fill(log, 12)
    log.close()
    indexes = {path: path.read_bytes() for path in (tmp_path / "t-0").glob("*.index")}
    for path in indexes:
        path.unlink()
    open_log(world, tmp_path).close()
    assert {path: path.read_bytes() for path in indexes} == indexes


def test_index_without_its_log_is_removed(world: World, tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / "00000000000000000042.index").write_bytes(bytes(8))
    log = open_log(world, tmp_path)
    assert "00000000000000000042.index" not in names(tmp_path)
    assert log.log_end_offset == 0


def test_log_before_its_start_is_dropped(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path)
    fill(log, 3)
    log.close()
    again = open_log(world, tmp_path, log_start_offset=100)
    assert (again.log_start_offset, again.log_end_offset, again.state.epochs.entries) == (100, 100, ())


class TestReading:
    def test_out_of_range(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path)
        fill(log, 3)
        log.delete_records(2)
        for offset in (-1, 1, 7):
            with pytest.raises(OffsetOutOfRangeError, match=f"offset {offset}, expected 2 to 6"):
                log.read(offset, 100)

    def test_first_batch_comes_whole_or_not_at_all(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path)
        fill(log, 3)
        size = len(batch(0, 2))
        assert log.read(0, 1).size == size
        partial = log.read(0, 10, min_one_batch=False)
        assert (partial.size, partial.first_batch_incomplete) == (10, True)
        assert log.read(0, 0, min_one_batch=False).records is None

    def test_stops_at_the_high_watermark(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path)
        log.is_sole_replica = False
        fill(log, 3)
        assert offsets_read(log) == []
        log.state.update_high_watermark(4)
        assert offsets_read(log) == [0, 2]
        assert offsets_read(log, isolation=Isolation.LOG_END) == [0, 2, 4]

    def test_high_watermark_inside_a_batch_counts_as_its_base(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path, {})
        log.is_sole_replica = False
        fill(log, 2, count=10)
        log.state.update_high_watermark(13)
        assert offsets_read(log) == [0]
        assert log.high_watermark == 10

    def test_range_outlives_the_segment(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path, {**SMALL, "retention.bytes": 0})
        fill(log, 3)
        fetched = log.read(0, 1 << 20)
        log.retain()
        world.scheduler.advance(60_000)
        assert walk(fetched.read()).table["base_offset"].tolist() == [0, 2, 4]


class TestTransactions:
    ORIGIN = Origin(producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)

    def marker(self, log: PartitionLog, kind: ControlType) -> None:
        data = build_marker_batch(
            EndTransactionMarker(kind, 0), offset=0, timestamp=NOW_MS, producer_id=7, producer_epoch=0
        )
        log.append_as_leader(data, leader_epoch=0, origin=AppendOrigin.COORDINATOR, transaction_version=0)

    def test_open_transaction_holds_readers_of_committed_records_back(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path)
        fill(log, 1)
        log.append_as_leader(batch(0, 2, origin=self.ORIGIN), leader_epoch=0)
        fill(log, 1)
        assert (log.high_watermark, log.last_stable_offset) == (6, 2)
        assert offsets_read(log, isolation=Isolation.READ_COMMITTED) == [0]
        self.marker(log, ControlType.COMMIT)
        assert log.last_stable_offset == 7
        assert offsets_read(log, isolation=Isolation.READ_COMMITTED) == [0, 2, 4, 6]
        assert log.read(0, 1 << 20, Isolation.READ_COMMITTED).aborted == ()

    def test_aborted_transaction_is_named_also_after_a_crash(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path)
        log.append_as_leader(batch(0, 2, origin=self.ORIGIN), leader_epoch=0)
        self.marker(log, ControlType.ABORT)
        expected = (AbortedTransaction(7, 0),)
        assert log.read(0, 1 << 20, Isolation.READ_COMMITTED).aborted == expected
        again = open_log(world, tmp_path, clean=False)
        assert again.read(0, 1 << 20, Isolation.READ_COMMITTED).aborted == expected
        assert again.last_stable_offset == 3

    def test_duplicate_is_answered_with_its_offsets(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path)
        idempotent = Origin(producer_id=9, producer_epoch=0, base_sequence=0)
        first = log.append_as_leader(batch(0, 2, origin=idempotent), leader_epoch=0)
        fill(log, 1)
        again = log.append_as_leader(batch(0, 2, origin=idempotent), leader_epoch=0)
        assert (again.first_offset, again.last_offset, again.is_duplicate) == (*first[:2], True)
        assert log.log_end_offset == 4

    def test_open_transaction_survives_restarts(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path)
        log.append_as_leader(batch(0, 2, origin=self.ORIGIN), leader_epoch=0)
        log.close()
        for clean in (True, False):
            assert open_log(world, tmp_path, clean=clean).last_stable_offset == 0


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
    def test_offset_for_timestamp(self, log: PartitionLog, timestamp: int, expected: FoundOffset) -> None:
        assert log.offset_for_timestamp(timestamp) == expected

    def test_not_before_the_logs_start(self, log: PartitionLog) -> None:
        log.delete_records(3)
        assert log.offset_for_timestamp(0).offset == 3
        assert log.offset_for_timestamp(SpecialTimestamp.EARLIEST) == FoundOffset(-1, 3, 5)

    def test_not_behind_what_can_be_read(self, log: PartitionLog) -> None:
        log.state.update_high_watermark(20)
        assert log.offset_for_timestamp(NOW_MS + 10_000).offset == -1
        assert log.offset_for_timestamp(NOW_MS + 10_000, Isolation.LOG_END).offset == 20
        assert log.offset_for_timestamp(SpecialTimestamp.LATEST, Isolation.LOG_END).offset == 24

    def test_log_without_records(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path)
        assert log.offset_for_timestamp(0).offset == -1
        assert log.offset_for_timestamp(SpecialTimestamp.MAX_TIMESTAMP).offset == -1
        assert log.offset_for_timestamp(SpecialTimestamp.LATEST) == FoundOffset(-1, 0, -1)


class TestRetention:
    # C3: when every segment has expired, a new active segment is rolled first
    # C4: renamed to .deleted, indexes too, and removed after file.delete.delay.ms
    def test_all_expired(self, world: World, tmp_path: Path) -> None:
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

    # C2: by time against the largest timestamp, not the file's
    def test_some_expired(self, world: World, tmp_path: Path) -> None:
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
    def test_delete_records_then_retention(self, world: World, tmp_path: Path) -> None:
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
    def test_by_size(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path)
        fill(log, 12)
        sizes = [segment.size for segment in log.segments]
        log.configure(LogConfig.of({**SMALL, "retention.bytes": log.size - sizes[0]}))
        log.retain()
        assert [segment.size for segment in log.segments] == sizes[1:]


class TestTruncation:
    def test_inside_an_earlier_segment(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path)
        fill(log, 6, epoch=0)
        fill(log, 6, epoch=1)
        log.flush()
        assert log.truncate_to(9)
        assert (log.log_end_offset, log.high_watermark, log.recovery_point) == (9, 9, 9)
        assert offsets_read(log) == [0, 2, 4, 6]
        assert log.state.epochs.entries == ((0, 0),)
        log.append_as_follower(batch(9, 1))
        assert offsets_read(log, 8) == [9]
        assert not log.truncate_to(10)

    def test_before_the_first_segment(self, world: World, tmp_path: Path) -> None:
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

    def test_producers_are_brought_back(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path)
        producer = Origin(producer_id=9, producer_epoch=0, base_sequence=0)
        log.append_as_leader(batch(0, 2, origin=producer), leader_epoch=0)
        second = Origin(producer_id=9, producer_epoch=0, base_sequence=2)
        log.append_as_leader(batch(0, 2, origin=second), leader_epoch=0)
        log.truncate_to(2)
        result = log.append_as_leader(batch(0, 2, origin=second), leader_epoch=0)
        assert (result.first_offset, result.is_duplicate) == (2, False)


def test_folder_is_renamed_and_deleted(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path)
    fill(log, 12)
    log.rename_folder("t-0.0123456789abcdef0123456789abcdef-delete")
    assert not (tmp_path / "t-0").exists()
    fill(log, 12, epoch=1)
    assert offsets_read(log) == list(range(0, 48, 2))
    log.delete()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KafkaStorageError, match="it is deleted"):
        log.read(0, 100)


def test_folder_on_its_way_out_is_not_recovered(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path)
    fill(log, 12)
    log.rename_folder("t-0.0123456789abcdef0123456789abcdef-delete")
    request = LoadRequest(folder=log.folder, config=log.config, environment=world.environment, clean=False)
    again = PartitionLog(request)
    assert (again.recovered, again.log_end_offset, again.recovery_point) == ([], 0, 0)


def test_topic_id_is_written_once(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path)
    topic_id = bytes(range(16))
    log.set_topic_id(topic_id)
    assert open_log(world, tmp_path).topic_id == topic_id
    with pytest.raises(KafkaStorageError, match="topic id"):
        log.set_topic_id(bytes(16))


def test_failing_disk_makes_the_log_unusable(world: World, tmp_path: Path) -> None:
    failures: list[OSError] = []
    log = open_log(world, tmp_path)
    log._on_failure = failures.append
    fill(log, 1)

    def fail(data: bytes, position: int) -> None:
        raise OSError(28, "No space left on device")

    log.segments.active.files.log.file.pwrite = fail  # type: ignore[method-assign]
    with pytest.raises(KafkaStorageError, match="No space left"):
        fill(log, 1)
    with pytest.raises(KafkaStorageError, match="its disk failed"):
        log.read(0, 100)
    assert len(failures) == 1
    assert open_log(world, tmp_path, clean=False).log_end_offset == 2


def test_disk_that_fails_in_the_background_makes_the_log_unusable(world: World, tmp_path: Path) -> None:
    failures: list[OSError] = []
    log = open_log(world, tmp_path)
    log._on_failure = failures.append
    fill(log, 12)

    def fail() -> None:
        raise OSError(5, "Input/output error")

    log.segments.first.files.log.file.fsync = fail  # type: ignore[method-assign]
    with pytest.raises(KafkaStorageError, match="cannot flush"):
        world.scheduler.run_due()
    assert len(failures) == 1
    with pytest.raises(KafkaStorageError, match="Input/output error"):
        fill(log, 1)


def test_work_that_is_scheduled_when_the_log_closes_does_nothing(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path)
    fill(log, 12)
    log.delete()
    assert world.scheduler.waiting
    world.scheduler.advance(60_000)
    assert list(tmp_path.iterdir()) == []
