"""A partition's log as its owner uses it: appends, flushes, its folder, a failing disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from typing_extensions import Buffer

from octavo.errors import CorruptionError, InconsistentTopicIdError, KafkaStorageError, UnexpectedAppendOffsetError
from tests.storage.batches import batch
from tests.storage.open_logs import fill, offsets_read, open_log
from tests.storage.worlds import World


def test_append_assigns_offsets_and_raises_the_watermark(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path)
    first = log.append_as_leader(batch(0, 3), leader_epoch=4)
    second = log.append_as_leader(batch(0, 2), leader_epoch=4)
    assert (first.first_offset, first.last_offset) == (0, 2)
    assert (second.first_offset, second.last_offset) == (3, 4)
    assert (log.log_end_offset, log.high_watermark, log.last_stable_offset, log.epochs.latest_epoch) == (5, 5, 5, 4)
    assert offsets_read(log) == [0, 3]


def test_a_log_rolls_and_is_read_across_segments(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path)
    fill(log, 12)
    assert len(log.segments) > 2
    assert offsets_read(log) == list(range(0, 24, 2))
    assert offsets_read(log, 7) == list(range(6, 24, 2))
    assert offsets_read(log, 24) == []
    assert sum(path.name.endswith(".snapshot") for path in (tmp_path / "t-0").iterdir()) == len(log.segments) - 1


# D1: writes go to the page cache; a roll, flush() or flush.messages moves the recovery point
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
    assert (log.log_end_offset, log.epochs.entries) == (21, ((1, 10), (2, 20)))
    with pytest.raises(UnexpectedAppendOffsetError, match="offsets 20 to 20"):
        log.append_as_follower(batch(20))
    assert offsets_read(log) == [10, 20]


def test_follower_skips_batches_of_later_epochs(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path)
    log.append_as_follower(batch(0, epoch=1) + batch(1, epoch=2), leader_epoch=1)
    assert log.log_end_offset == 1
    nothing = log.append_as_follower(batch(1, epoch=2), leader_epoch=1)
    assert (nothing.first_offset, nothing.last_offset, log.log_end_offset) == (-1, -1, 1)


def test_folder_is_renamed_and_deleted(world: World, tmp_path: Path) -> None:
    """Between the two the log refuses appends, which would be lost."""
    log = open_log(world, tmp_path)
    fill(log, 12)
    log.rename_for_deletion("t-0.0123456789abcdef0123456789abcdef-delete")
    assert not (tmp_path / "t-0").exists()
    with pytest.raises(KafkaStorageError, match="cannot append: it was deleted"):
        fill(log, 1)
    log.delete()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KafkaStorageError, match="it was deleted"):
        log.read(0, 100)


def test_topic_id_is_written_once(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path)
    topic_id = bytes(range(16))
    log.set_topic_id(topic_id)
    assert open_log(world, tmp_path).topic_id == topic_id
    with pytest.raises(InconsistentTopicIdError, match="its topic id is AAECAwQFBgcICQoLDA0ODw, expected AQEBAQ"):
        log.set_topic_id(b"\1" * 16)


def test_what_is_not_partition_metadata_is_named(world: World, tmp_path: Path) -> None:
    open_log(world, tmp_path)
    path = tmp_path / "t-0" / "partition.metadata"
    path.write_bytes(b"garbage\n")
    with pytest.raises(CorruptionError, match="expected two lines") as raised:
        open_log(world, tmp_path)
    assert raised.value.path == str(path)


def test_failing_disk_makes_the_log_unusable(world: World, tmp_path: Path) -> None:
    failures: list[OSError] = []
    log = open_log(world, tmp_path)
    log._on_failure = failures.append
    fill(log, 1)

    def fail(data: Buffer, position: int) -> None:
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


def test_work_that_is_scheduled_when_the_log_is_deleted_does_nothing(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path)
    fill(log, 12)
    log.delete()
    assert world.scheduler.waiting
    world.scheduler.advance(60_000)
    assert list(tmp_path.iterdir()) == []
