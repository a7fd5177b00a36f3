"""Rebuilt indexes: the same as Kafka's own; after a crash at any step, each is the old or the new one, and the log is
unchanged."""

from __future__ import annotations

import contextlib
import pickle
from pathlib import Path

import pytest

import octavo
from octavo.errors import InvalidRecordError
from octavo.format.names import CLUSTER_METADATA_TOPIC, FileKind, TopicPartition
from octavo.jobs import reindex
from octavo.jobs.reindex import ReindexTask
from octavo.scanner.log_dirs import open_log_dirs
from octavo.scanner.places.directory import read_directory
from octavo.scanner.places.location import locate
from octavo.storage.segment.build_index import IndexLimits, build_indexes
from octavo.storage.topics.topic_configs import TopicConfigs
from octavo.system.filesystem import LocalFileSystem
from octavo.system.runner import TaskOutcome, ThreadRunner
from tests.crash.fault_filesystem import Crash, FaultFileSystem, Loss
from tests.format.crafted import crafted
from tests.golden.archives import unpack
from tests.scanner.segments import path, write_segment
from tests.storage.batches import batch

LIMITS = IndexLimits(200, 10 << 20)
KINDS = (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX)


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def planned(folder: Path, *, write: bool = True) -> list[ReindexTask]:
    configs = {"index.interval.bytes": LIMITS.index_interval_bytes, "segment.index.bytes": LIMITS.segment_index_bytes}
    return reindex.plan(read_directory(locate(folder)), configs, write=write)


def reindexed(folder: Path, *, write: bool = True) -> list[reindex.ReindexResult]:
    tasks = planned(folder, write=write)
    return [outcome.get() for outcome in reindex.commit(ThreadRunner(2).run(reindex.run, tasks))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "orders-0"
    write_segment(folder, 0, *(batch(number, timestamp=1000 + number) for number in range(10)))
    write_segment(folder, 10, *(batch(number, timestamp=500 - number) for number in range(10, 20)))
    return folder


def test_indexes_are_kafkas() -> None:
    """All indexes of logs that a broker recovered; it opens the cluster's metadata log differently."""
    root = unpack("v431-killed-recovered")
    configs = TopicConfigs()
    configs.read(LocalFileSystem(), root)
    compared = 0
    for files in open_log_dirs(root, lambda name: name.topic != CLUSTER_METADATA_TOPIC).partitions.values():
        config = configs.of(files.folder.topic)
        limits = IndexLimits(config.index_interval_bytes, config.segment_index_bytes)
        for segment in files.segments:
            log = Path(files.path(segment).path)
            built = build_indexes(LocalFileSystem(), log, segment.base_offset, limits)
            assert built.problem is None
            assert built.offset_index == log.with_suffix(".index").read_bytes(), log
            assert built.time_index == log.with_suffix(".timeindex").read_bytes(), log
            compared += len(built.offset_index)
    assert compared > 1000


def test_what_is_right_stays_untouched(folder: Path) -> None:
    times = {file.name: file.stat().st_mtime_ns for file in folder.iterdir()}
    assert [result.changed for result in reindexed(folder)] == [(), ()]
    assert {file.name: file.stat().st_mtime_ns for file in folder.iterdir()} == times


@pytest.mark.parametrize("damage", [bytes, lambda content: content[:-3], lambda content: content + bytes(800)])
def test_what_is_lost_damaged_or_untrimmed_is_made_again(folder: Path, damage: object) -> None:
    before = contents(folder)
    for kind in KINDS:
        index = path(folder, 0, kind)
        index.write_bytes(damage(index.read_bytes()) if damage is not bytes else b"")  # type: ignore[operator]
    first, second = reindexed(folder)
    assert first.changed == tuple(path(folder, 0, kind).name for kind in KINDS)
    assert (second.changed, first.offset_entries, first.time_entries) == ((), 4, 5)
    assert contents(folder) == before


def test_a_missing_index_is_made_again(folder: Path) -> None:
    before = contents(folder)
    path(folder, 10, FileKind.TIME_INDEX).unlink()
    assert [result.changed for result in reindexed(folder)] == [(), (f"{10:020}.timeindex",)]
    assert contents(folder) == before


def test_without_write_nothing_changes(folder: Path) -> None:
    path(folder, 0, FileKind.OFFSET_INDEX).write_bytes(b"")
    before = contents(folder)
    assert reindexed(folder, write=False)[0].changed == (f"{0:020}.index",)
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("tail", "problem"),
    [(batch(10)[:40], "an incomplete batch"), (bytes(100), "bytes that are not a batch"), (batch(3), None)],
)
def test_a_log_is_followed_to_its_damage(tmp_path: Path, tail: bytes, problem: str | None) -> None:
    whole = [batch(number) for number in range(5, 9)]
    log = write_segment(tmp_path, 5, *whole)
    log.write_bytes(log.read_bytes() + tail)
    built = build_indexes(LocalFileSystem(), log, 5, LIMITS)
    assert built.offset_index == path(tmp_path, 5, FileKind.OFFSET_INDEX).read_bytes()
    assert built.stop_position == sum(map(len, whole))
    assert built.problem is not None
    assert problem in (None, built.problem)


def test_an_index_takes_no_more_than_its_room(folder: Path) -> None:
    built = build_indexes(LocalFileSystem(), path(folder, 0, FileKind.LOG), 0, IndexLimits(0, 36))
    assert (len(built.offset_index), len(built.time_index)) == (32, 36)  # the last time entry is the closing one
    assert built.time_index[-12:] == path(folder, 0, FileKind.TIME_INDEX).read_bytes()[-12:]


def test_a_task_travels_to_another_process(folder: Path) -> None:
    tasks = planned(folder)
    assert pickle.loads(pickle.dumps(tasks)) == tasks


@pytest.mark.parametrize("loss", Loss)
def test_a_crash_at_any_step_leaves_each_index_old_or_new(folder: Path, loss: Loss) -> None:
    task = ReindexTask(TopicPartition("orders", 0), folder, 0, 0, LIMITS, write=True)
    new = {path(folder, 0, kind): path(folder, 0, kind).read_bytes() for kind in KINDS}
    log = path(folder, 0, FileKind.LOG)
    old = dict.fromkeys(new, b"old")

    def start(stop_at: int | None) -> FaultFileSystem:
        filesystem = FaultFileSystem()
        for file, content in {**old, log: log.read_bytes()}.items():
            filesystem.open(file, create=True).pwrite(content, 0)
            filesystem.open(file).fsync()
        filesystem.fsync_folder(folder)
        filesystem.operations, filesystem.stop_at = 0, stop_at
        return filesystem

    def work(filesystem: FaultFileSystem) -> None:
        list(reindex.commit([TaskOutcome(task, reindex.run(task, filesystem))], filesystem))

    whole = start(None)
    work(whole)
    assert {file: whole.read_bytes(file) for file in new} == new
    assert whole.operations > 6
    for stop_at in range(1, whole.operations + 1):
        filesystem = start(stop_at)
        with pytest.raises(Crash):
            work(filesystem)
        for seed in range(5):
            after = filesystem.after_crash(loss, seed)
            for file in new:
                assert after.read_bytes(file) in (old[file], new[file])
            assert after.read_bytes(log) == log.read_bytes()
            work(after)
            assert {file: after.read_bytes(file) for file in new} == new


FORMS = {
    "magic 3": crafted(batch(25), magic=3),
    "-1 records": crafted(batch(25), recordsCount=-1),
    "begins before the segment": crafted(batch(25, 2), baseOffset=19),
    "ends before the segment": crafted(batch(25), baseOffset=19),
    "offsets go back": crafted(batch(25), baseOffset=22),
    "more records than offsets": crafted(batch(25), recordsCount=3),
    "records that cannot be decoded": batch(25)[:61] + b"\xff" * 111,
    "no timestamp": crafted(batch(25), baseTimestamp=-1, maxTimestamp=-1),
    "unknown attributes": crafted(batch(25), attributes=0x7F00),
    "a marker that cannot be read": crafted(batch(25), attributes=0x30, producerId=7, producerEpoch=0),
    "wrong CRC": batch(25)[:-1] + b"x",
    "too far, and offsets go back": crafted(batch(25), baseOffset=20 + 2**31),
    "codec 5": crafted(batch(25), attributes=5),
}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_the_indexes_end_where_recovery_ends_the_log(tmp_path: Path, form: str, first: bool) -> None:
    folder, log = tmp_path / "orders-0", path(tmp_path / "orders-0", 20, FileKind.LOG)
    before = [] if first else [batch(number) for number in range(20, 25)]
    folder.mkdir()
    log.write_bytes(b"".join([*before, FORMS[form], *(batch(number) for number in range(26, 40))]))
    (built,) = reindexed(folder, write=False)
    # As in Kafka, loading the producers then fails if the log ends with an unreadable marker.
    with (
        contextlib.suppress(InvalidRecordError),
        octavo.LogDir(tmp_path, background=False, configs={"log.index.interval.bytes": 200}),
    ):
        pass
    assert built.stop_position == log.stat().st_size
    assert [result.changed for result in reindexed(folder, write=False)] == [()]
