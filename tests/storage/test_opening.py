"""Opening a directory: nothing in it is deleted, nothing is cut silently, and a mistyped path creates nothing."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import pytest

from octavo.errors import CorruptionError, LogDirError, TopicExistsError
from octavo.format.names import CLEAN_SHUTDOWN, PARTITION_METADATA, TopicPartition
from octavo.storage.log_manager import LogManager
from tests.golden import archives
from tests.storage.batches import batch
from tests.storage.worlds import NOW_MS, World, opened

A_YEAR_MS = 365 * 86_400_000
SEVERAL_ROUNDS_MS = 900_000  # enough for several rounds of retention and the cleaner


def files_of(root: Path) -> dict[str, int]:
    return {str(path.relative_to(root)): path.stat().st_size for path in root.rglob("*.log*")}


@pytest.mark.parametrize("archive", ["v282", "v431-clean"])
def test_an_old_backup_stays_as_it_is(archive: str, tmp_path: Path) -> None:
    """Its newest record is years past every retention limit, and some of its topics are dirty."""
    root, world = tmp_path / "logs", World(NOW_MS + 10 * A_YEAR_MS)
    shutil.copytree(archives.unpack(archive), root)
    before = files_of(root)
    with opened(root, world=world):
        world.scheduler.advance(SEVERAL_ROUNDS_MS)
    assert files_of(root) == before


def test_upkeep_happens_only_when_it_is_asked_for(tmp_path: Path) -> None:
    world = World(NOW_MS)
    with opened(tmp_path, world=world) as logs:
        logs.create_topic("t", 1, {"segment.bytes": 2000})
        for number in range(5):
            logs.log("t", 0).append_as_leader(batch(0, 10, timestamp=NOW_MS + number), leader_epoch=0)
        world.clock.advance(A_YEAR_MS)
        world.scheduler.advance(SEVERAL_ROUNDS_MS)
        assert logs.log("t", 0).log_start_offset == 0
    with opened(tmp_path, world=world, upkeep=True) as logs:
        world.scheduler.advance(60_000)
        assert logs.log("t", 0).log_start_offset > 0


def test_what_is_marked_as_deleted_stays_until_upkeep_takes_it(tmp_path: Path) -> None:
    world = World()
    with opened(tmp_path, world=world) as logs:
        logs.create_topic("t", 1)
    leaving = tmp_path / f"gone-0.{'0' * 32}-delete"
    leaving.mkdir()
    segment = tmp_path / "t-0" / "00000000000000000000.log.deleted"
    segment.write_bytes(batch(0))
    with opened(tmp_path, world=world):
        world.scheduler.advance(SEVERAL_ROUNDS_MS)
    assert leaving.exists() and segment.exists()
    with opened(tmp_path, world=world, upkeep=True):
        world.scheduler.advance(60_000)
    assert not leaving.exists() and not segment.exists()


def test_a_torn_tail_is_cut_and_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    with opened(tmp_path, world=world) as logs:
        logs.create_topic("t", 1)
        logs.log("t", 0).append_as_leader(batch(0), leader_epoch=0)
        assert logs.recovery == []
    (tmp_path / CLEAN_SHUTDOWN).unlink()
    path = tmp_path / "t-0" / "00000000000000000000.log"
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(b"torn")
    with caplog.at_level(logging.WARNING), opened(tmp_path, world=world) as logs:
        (loss,) = logs.recovery
        assert loss == (TopicPartition("t", 0), path, size, 4, loss.reason)
        assert str(loss) in caplog.text


def test_a_cut_is_reported_even_if_another_partition_cannot_be_loaded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(tmp_path) as logs:
        for topic in ("t", "u"):
            logs.create_topic(topic, 1)
        logs.log("t", 0).append_as_leader(batch(0, 2), leader_epoch=0)
    (tmp_path / CLEAN_SHUTDOWN).unlink()
    with (tmp_path / "t-0" / f"{0:020}.log").open("ab") as log:
        log.write(batch(2, 5)[:-9])
    (tmp_path / "u-0" / PARTITION_METADATA).write_text("rubbish")
    with pytest.raises(CorruptionError):
        opened(tmp_path)
    assert [(record.name, "cut at position" in record.getMessage()) for record in caplog.records] == [
        ("octavo.recovery", True)
    ]


def test_a_mistyped_path_is_not_created(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), opened(tmp_path / "typo" / "logs", world=World()) as logs:
        assert logs.topics == {}
    assert list(tmp_path.iterdir()) == []
    assert f"{tmp_path}/typo/logs: no such directory, and no topic was created in it" in caplog.text
    with pytest.raises(LogDirError, match="no such directory"):
        opened(tmp_path / "typo", world=World(), create=False)


def test_a_new_directory_is_no_reason_to_warn_unless_others_exist(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    will_be_created = f"{tmp_path}/new: no such directory; it will be created with the first topic"
    with caplog.at_level(logging.INFO), opened(tmp_path / "new", world=World()) as logs:
        logs.create_topic("t", 1)
    assert [(record.levelname, record.message) for record in caplog.records] == [("INFO", will_be_created)]
    caplog.clear()
    (tmp_path / "new").rename(tmp_path / "disk")
    with LogManager([tmp_path / "disk", tmp_path / "new"], environment=World().environment):
        pass
    assert [(record.levelname, record.message) for record in caplog.records] == [("WARNING", will_be_created)]


def test_a_missing_directory_is_made_with_the_first_topic(tmp_path: Path) -> None:
    world, roots = World(), [tmp_path / "one", tmp_path / "two"]
    with LogManager(roots, environment=world.environment) as logs:
        logs.create_topic("t", 2)
        assert {log.folder.parent for log in logs.logs.values()} == set(roots)
        with pytest.raises(LogDirError, match="this process"):
            opened(roots[0], world=world)
    with LogManager(roots, environment=world.environment) as logs, pytest.raises(TopicExistsError):
        logs.create_topic("t", 2)


def test_a_directory_that_another_program_made_meanwhile_is_not_taken(tmp_path: Path) -> None:
    world, root = World(), tmp_path / "logs"
    with opened(root, world=world) as late:
        with opened(root, world=world) as logs:
            logs.create_topic("t", 1)
        with pytest.raises(LogDirError, match="another program has created it"):
            late.create_topic("t", 1)
    with opened(root, world=world) as logs:
        assert logs.topics == {"t": [0]}
