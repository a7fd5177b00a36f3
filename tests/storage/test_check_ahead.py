"""Segments checked in parallel are recovered exactly like segments checked one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from octavo.config import LogConfig
from octavo.format.batches.batch import Origin
from octavo.format.names import FileKind, TopicPartition
from octavo.storage.log_manager import LogManager
from octavo.storage.partition_log import PartitionLog
from octavo.storage.recovery import recover
from octavo.storage.recovery.check_ahead import Checkers, check_ahead
from octavo.storage.recovery.load import LoadRequest
from octavo.storage.recovery.recover import Checked, check_segment
from tests.scanner.segments import path, write_segment
from tests.storage.batches import batch
from tests.storage.worlds import NOW_MS, World

CONFIG = LogConfig.of({"segment.bytes": 1000, "index.interval.bytes": 200, "retention.ms": -1})


@pytest.fixture
def checkers() -> Iterator[Checkers]:
    with ThreadPoolExecutor(2) as executor:
        yield Checkers(executor, 2)


def opened(folder: Path, world: World, checkers: Checkers | None = None, *, clean: bool = False) -> PartitionLog:
    return PartitionLog(
        LoadRequest(folder=folder, config=CONFIG, environment=world.environment, clean=clean, checkers=checkers)
    )


def written(folder: Path, world: World) -> Path:
    """A log with many segments and producers that was not closed."""
    log = opened(folder, world, clean=True)
    for number in range(40):
        origin = Origin(producer_id=number % 3, producer_epoch=0, base_sequence=number // 3)
        log.append_as_leader(batch(0, timestamp=NOW_MS + number, origin=origin), leader_epoch=number // 10)
    log.flush()
    log.abandon("the process ends")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def damage(folder: Path, base_offset: int) -> None:
    path = folder / f"{base_offset:020}.log"
    data = bytearray(path.read_bytes())
    data[len(data) * 3 // 4] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("damaged", [None, 0, 15, 35])
def test_segments_checked_ahead_are_recovered_like_others(
    tmp_path: Path, checkers: Checkers, damaged: int | None
) -> None:
    world = World()
    folders = [written(tmp_path / name / "t-0", world) for name in ("alone", "ahead")]
    bases = opened(written(tmp_path / "third" / "t-0", world), world).segments.base_offsets
    assert len(bases) > 6
    if damaged is not None:
        for folder in folders:
            damage(folder, max(base for base in bases if base <= damaged))
    alone, ahead = opened(folders[0], world), opened(folders[1], world, checkers)
    assert ahead.recovered == alone.recovered
    assert ahead.dropped == alone.dropped
    assert ahead.log_end_offset == alone.log_end_offset
    assert (ahead.log_end_offset < 40) == (damaged is not None)
    assert contents(folders[1]) == contents(folders[0])


def test_a_check_says_where_a_segment_ends_and_why(tmp_path: Path) -> None:
    segment = World().segment(tmp_path, one := batch(0), two := batch(1))
    assert check_segment(segment) == Checked(len(one + two), None)
    damage(tmp_path, 0)
    checked = check_segment(segment)
    assert checked.end_position == len(one)
    assert checked.problem == "batch with base offset 1: its CRC is wrong"


def test_a_single_segment_is_checked_on_the_way(tmp_path: Path, checkers: Checkers) -> None:
    segment = World().segment(tmp_path, batch(0))
    assert list(check_ahead([segment], checkers)) == [None]
    assert list(check_ahead([segment, segment], None)) == [None, None]
    assert list(check_ahead([segment, segment], checkers)) == [check_segment(segment)] * 2


@pytest.mark.parametrize("tail", [b"", bytes(40)], ids=["whole", "cut"])
@pytest.mark.parametrize("threads", [1, 2])
def test_progress_moves_within_a_segment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int, tail: bytes
) -> None:
    """Progress comes chunk by chunk, whichever thread reads; what is cut counts as read."""
    monkeypatch.setattr(recover, "_CHUNK_BYTES", 2000)
    for base_offset in (0, 100):
        write_segment(tmp_path / "t-0", base_offset, *(batch(base_offset + number) for number in range(100)))
    last = path(tmp_path / "t-0", 100, FileKind.LOG)
    last.write_bytes(last.read_bytes() + tail)
    total = sum(log.stat().st_size for log in (tmp_path / "t-0").glob("*.log"))
    told: list[int] = []
    threads_config = {"num.recovery.threads.per.data.dir": threads}
    world = World()
    LogManager(
        tmp_path, configs=threads_config, environment=world.environment, progress=lambda _, size: told.append(size)
    ).close()
    assert sum(told) == total
    assert len(told) > 10 and max(told) <= 2000


def test_a_directory_is_recovered_by_threads(tmp_path: Path) -> None:
    world = World()
    with LogManager(tmp_path, environment=world.environment, configs={"log.segment.bytes": 1000}) as logs:
        logs.create_topic("t", 3)
        for number in range(60):
            logs.log("t", number % 3).append_as_leader(bytearray(batch(0, timestamp=NOW_MS)), leader_epoch=0)
    for file in (".kafka_cleanshutdown", "recovery-point-offset-checkpoint"):
        (tmp_path / file).unlink()
    told: list[tuple[TopicPartition, int]] = []
    with LogManager(
        tmp_path,
        environment=world.environment,
        configs={"num.recovery.threads.per.data.dir": 4},
        progress=lambda name, size: told.append((name, size)),
    ) as logs:
        assert [log.log_end_offset for log in logs.logs.values()] == [20, 20, 20]
        assert all(len(log.recovered) > 2 for log in logs.logs.values())
    for name, log in logs.logs.items():
        assert sum(size for told_name, size in told if told_name == name) == log.size
