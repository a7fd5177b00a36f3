"""What a `LogManager` does by itself, at Kafka's intervals, with a clock and a scheduler that tests move."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from octavo.config.kinds import Given
from octavo.errors import KafkaStorageError
from octavo.format.batches.batch import Origin
from octavo.format.names import StagedFile, TopicPartition
from octavo.format.small_files import checkpoint
from octavo.storage.directory.checkpoints import Logs, OffsetCheckpoints
from octavo.storage.log_manager import LogManager
from octavo.storage.partition_log import PartitionLog
from octavo.storage.staging.sweep import STAGED_FILE_MAX_AGE_MS
from octavo.system.scheduler import EndScheduler
from tests.storage.batches import batch
from tests.storage.worlds import NOW_MS, World, opened_with_upkeep

T0 = TopicPartition("t", 0)
PATIENCE_SECONDS = 60


def append(log: PartitionLog, count: int = 1, *, timestamp: int = NOW_MS, origin: Origin | None = None) -> None:
    log.append_as_leader(bytearray(batch(0, count, timestamp=timestamp, origin=origin)), leader_epoch=0)


def offsets(root: Path, name: str) -> dict[TopicPartition, int]:
    return checkpoint.decode_offsets((root / f"{name}-offset-checkpoint").read_bytes())


def test_retention_comes_after_the_initial_delay_and_then_at_its_interval(tmp_path: Path, world: World) -> None:
    with opened_with_upkeep(tmp_path, world) as logs:
        logs.create_topic("t", 1, {"retention.ms": 310_000})
        log = logs.log("t", 0)
        append(log)
        world.scheduler.advance(30_000)  # now - timestamp is 30 s
        assert log.log_start_offset == 0
        world.scheduler.advance(300_000)
        assert (log.log_start_offset, log.segments.base_offsets) == (1, (1,))
        assert sorted(path.name for path in log.folder.glob("*.deleted"))
        world.scheduler.advance(60_000)
        assert not list(log.folder.glob("*.deleted"))


def test_a_changed_config_counts_in_the_next_round(tmp_path: Path, world: World) -> None:
    with opened_with_upkeep(tmp_path, world) as logs:
        logs.create_topic("t", 1)
        append(logs.log("t", 0))
        world.scheduler.advance(330_000)
        assert logs.log("t", 0).log_start_offset == 0
        logs.alter_configs("t", {"retention.ms": 1000})
        world.scheduler.advance(300_000)
        assert logs.log("t", 0).log_start_offset == 1


def test_compacted_logs_are_left_to_the_cleaner(tmp_path: Path, world: World) -> None:
    with opened_with_upkeep(tmp_path, world, log_cleaner_enable=False) as logs:
        logs.create_topic("t", 1, {"cleanup.policy": "compact,delete", "retention.ms": 1})
        append(logs.log("t", 0))
        world.scheduler.advance(330_000)
        assert logs.log("t", 0).log_start_offset == 0


def test_logs_are_flushed_when_flush_ms_is_over(tmp_path: Path, world: World) -> None:
    with opened_with_upkeep(tmp_path, world, log_flush_scheduler_interval_ms=1000) as logs:
        logs.create_topic("t", 2, {"flush.ms": 40_000})
        logs.create_topic("never", 1, {"flush.ms": 1 << 40})
        for log in logs.logs.values():
            append(log)
        world.scheduler.advance(39_000)
        assert [log.recovery_point for log in logs.logs.values()] == [0, 0, 0]
        world.scheduler.advance(1000)
        assert {name: log.recovery_point for name, log in logs.logs.items()} == {
            T0: 1, TopicPartition("t", 1): 1, TopicPartition("never", 0): 0,
        }  # fmt: skip


def test_checkpoints_are_written_at_their_intervals(tmp_path: Path, world: World) -> None:
    with opened_with_upkeep(tmp_path, world) as logs:
        logs.create_topic("t", 1)
        log = logs.log("t", 0)
        append(log, 4)
        world.scheduler.advance(30_000)
        assert offsets(tmp_path, "recovery-point") == {T0: 0}
        assert offsets(tmp_path, "log-start") == {}
        assert offsets(tmp_path, "replication") == {T0: 4}
        append(log, 2)
        log.flush()
        log.delete_records(3)
        world.scheduler.advance(5_000)
        assert offsets(tmp_path, "replication") == {T0: 6}
        assert offsets(tmp_path, "recovery-point") == {T0: 0}
        world.scheduler.advance(55_000)
        assert offsets(tmp_path, "recovery-point") == {T0: 6}
        assert offsets(tmp_path, "log-start") == {T0: 3}


def test_idle_producers_are_forgotten(tmp_path: Path, world: World) -> None:
    with opened_with_upkeep(tmp_path, world, producer_id_expiration_ms=100_000) as logs:
        logs.create_topic("t", 1)
        log = logs.log("t", 0)
        append(log, origin=Origin(producer_id=7, producer_epoch=0, base_sequence=0))
        world.scheduler.advance(30_000)
        assert not log.producers.is_empty
        world.scheduler.advance(600_000)
        assert log.producers.is_empty


def test_a_log_that_fails_does_not_stop_others(tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: PartitionLog) -> None:
        if self.folder.name == "t-0":
            raise ValueError("a mistake")
        retain(self)

    retain = PartitionLog.retain
    monkeypatch.setattr(PartitionLog, "retain", fails)
    with opened_with_upkeep(tmp_path, world) as logs:
        logs.create_topic("t", 2, {"retention.ms": 1000})
        for log in logs.logs.values():
            append(log)
        world.scheduler.advance(30_000)
        assert [log.log_start_offset for log in logs.logs.values()] == [0, 1]


def test_files_that_a_dead_writer_staged_are_removed_after_a_day(tmp_path: Path, world: World) -> None:
    with opened_with_upkeep(tmp_path, world) as logs:
        logs.create_topic("t", 1)
        old, new = (tmp_path / "t-0" / StagedFile("0" * 16, "0" * 32, number).name for number in range(2))
        for path, age_ms in ((old, STAGED_FILE_MAX_AGE_MS + 60_000), (new, 0)):
            path.touch()
            world.filesystem.set_mtime_ms(path, NOW_MS - age_ms)
        world.scheduler.advance(30_000)
        assert [path.exists() for path in (old, new)] == [False, True]


def test_without_background_nothing_is_scheduled(tmp_path: Path, world: World) -> None:
    with LogManager(tmp_path, environment=world.environment, upkeep=True) as logs:
        logs.create_topic("t", 1)
        logs.delete_topic("t")
        assert "kafka-log-retention" in world.scheduler.waiting
    with LogManager(tmp_path, environment=world.environment, background=False) as logs:
        assert world.scheduler.waiting == []
    assert list(tmp_path.glob("t-0.*-delete"))
    with LogManager(tmp_path, background=False) as logs:
        assert isinstance(logs.environment.scheduler, EndScheduler)
        logs.create_topic("u", 1)
        logs.delete_topic("u")
    assert not list(tmp_path.glob("u-0.*-delete"))


def test_a_directory_that_went_offline_stops_no_removal(tmp_path: Path, world: World) -> None:
    with LogManager(tmp_path, environment=world.environment, background=False) as logs:
        logs.create_topic("t", 1)
        logs.delete_topic("t")
    world.scheduler.shutdown()
    logs = opened_with_upkeep(tmp_path, world)
    logs.roots[0].take_offline(OSError(5, "Input/output error"))
    world.scheduler.advance(60_000)
    with pytest.raises(KafkaStorageError, match="offline"), logs.roots[0].unless_offline():
        raise AssertionError("the block must not begin")
    logs.close()


def test_it_runs_on_its_own_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the real scheduler, the high watermark reaches the disk without any call."""
    configs: dict[str, Given] = {
        "log.initial.task.delay.ms": 0,
        "replica.high.watermark.checkpoint.interval.ms": 1,
    }
    write, is_written = OffsetCheckpoints.write_high_watermarks, threading.Event()

    def write_and_tell(checkpoints: OffsetCheckpoints, logs: Logs) -> None:
        write(checkpoints, logs)
        if offsets(tmp_path, "replication") == {T0: 1}:
            is_written.set()

    monkeypatch.setattr(OffsetCheckpoints, "write_high_watermarks", write_and_tell)
    with LogManager(tmp_path, configs=configs) as logs:
        logs.create_topic("t", 1)
        append(logs.log("t", 0))
        assert is_written.wait(PATIENCE_SECONDS)
