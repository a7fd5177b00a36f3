"""A partition's log when it is opened again: after a clean stop, after a crash, with files damaged or lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.errors import KafkaStorageError
from octavo.storage.partition_log import PartitionLog
from octavo.storage.recovery.load import LoadRequest
from tests.storage.batches import batch
from tests.storage.open_logs import fill, names, offsets_read, open_log
from tests.storage.worlds import World


def test_a_restart_after_a_clean_stop_changes_no_file(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path)
    fill(log, 12, epoch=3)
    log.close()
    with pytest.raises(KafkaStorageError, match="it is closed"):
        log.append_as_leader(batch(0), leader_epoch=3)
    before = {path.name: path.read_bytes() for path in (tmp_path / "t-0").iterdir()}
    again = open_log(world, tmp_path)
    assert (again.log_end_offset, again.recovery_point, again.epochs.latest_epoch) == (24, 24, 3)
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


def test_what_lies_before_the_start_needs_no_recovery(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path)
    fill(log, 12)
    log.truncate_fully(100)
    again = open_log(world, tmp_path, clean=False)
    assert (log.recovery_point, again.log_start_offset, again.recovery_point) == (0, 100, 100)


def test_torn_tail_is_cut_even_after_a_clean_stop(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path)
    fill(log, 3)
    log.close()
    path = log.segments.active.files.log.path
    path.write_bytes(path.read_bytes() + batch(6)[:-1])
    again = open_log(world, tmp_path)
    assert [recovered.problem for recovered in again.recovered] == ["an incomplete batch"]
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
    dropped = [name for name in names(tmp_path) if name.endswith(".deleted")]
    assert len([name for name in dropped if name.endswith(".log.deleted")]) == len(again.dropped)
    world.scheduler.advance(60_000)
    assert [name for name in names(tmp_path) if name.endswith(".deleted")] == dropped  # only upkeep removes them
    assert open_log(world, tmp_path, clean=False, upkeep=True).dropped == []
    assert not any(name.endswith(".deleted") for name in names(tmp_path))


@pytest.mark.parametrize("with_index", [True, False])
def test_an_offset_that_is_torn_at_the_logs_end_is_not_the_logs_end(
    world: World, tmp_path: Path, with_index: bool
) -> None:
    """No CRC covers the offset: the batch looks sound, and the log would end at offset 14."""
    log = open_log(world, tmp_path)
    fill(log, 9)
    log.close()
    active = log.segments.active
    path, base_offset = active.files.log.path, active.base_offset
    content = bytearray(path.read_bytes())
    last = content.rindex((16).to_bytes(8))
    content[last : last + 8] = base_offset.to_bytes(8)
    path.write_bytes(content)
    if not with_index:
        active.files.offset_index.path.unlink()
    again = open_log(world, tmp_path, clean=False)
    assert (again.log_end_offset, offsets_read(again)) == (16, list(range(0, 16, 2)))
    assert [found.problem for found in again.recovered if found.bytes_cut] == [
        "the offsets of its last batches go back"
    ]


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
    assert (again.log_start_offset, again.log_end_offset, again.epochs.entries) == (100, 100, ())


def test_a_folder_that_is_marked_as_deleted_is_not_recovered(world: World, tmp_path: Path) -> None:
    log = open_log(world, tmp_path)
    fill(log, 12)
    log.rename_for_deletion("t-0.0123456789abcdef0123456789abcdef-delete")
    request = LoadRequest(folder=log.folder, config=log.config, environment=world.environment, clean=False)
    again = PartitionLog(request)
    assert (again.recovered, again.log_end_offset, again.recovery_point) == ([], 0, 0)
