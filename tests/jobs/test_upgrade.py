"""Old formats rewritten as v2, and batches with another codec: the same records at the same offsets."""

from __future__ import annotations

import errno
import pickle
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from octavo.format.compression import Codec
from octavo.format.names import CLUSTER_METADATA_TOPIC
from octavo.format.record import TimestampType
from octavo.jobs.count import TopicCounts
from octavo.jobs.upgrade import Upgraded, plan, upgrade
from octavo.jobs.verify.finding import Severity
from octavo.jobs.verify.job import Verification
from octavo.jobs.verify.plan import plan as plan_verification
from octavo.kernels.layout import MAGIC_POSITION
from octavo.scanner.api import scan
from octavo.scanner.reading.plan import IsolationLevel
from octavo.scanner.reading.records import ConsumerRecord
from octavo.storage.environment import Environment
from octavo.storage.log_manager import LogManager
from octavo.system.clock import ManualClock
from octavo.system.filesystem import LocalFileSystem
from octavo.system.runner import ThreadRunner
from tests.golden.archives import unpack
from tests.storage.batches import batch
from tests.storage.worlds import ManualScheduler

CLOCK = ManualClock(0)
OLD = ["v0821", "v0901", "v01022", "v01103", "upgrade-mixed", "v282"]


@contextmanager
def opened(root: Path, segment_bytes: int = 1 << 30) -> Iterator[LogManager]:
    configs = {"log.segment.bytes": segment_bytes}
    with LogManager(root, configs=configs, background=False, create=False) as logs:
        yield logs


def upgraded(root: Path, codec: Codec | None = None, segment_bytes: int = 1 << 30) -> list[Upgraded]:
    with opened(root, segment_bytes) as logs:
        plans = plan(logs, codec)
        assert pickle.loads(pickle.dumps([planned.tasks for planned in plans])) == [planned.tasks for planned in plans]
        return list(upgrade(plans, ThreadRunner(2)))


def read(root: Path, isolation_level: IsolationLevel = "read_uncommitted") -> list[ConsumerRecord]:
    """All records; those without a timestamp are CreateTime in v2."""
    topics = re.compile(f"(?!{CLUSTER_METADATA_TOPIC}).*")
    records = scan(root, topics, isolation_level=isolation_level).records()
    return [
        record._replace(timestamp_type=TimestampType.CREATE_TIME) if record.timestamp == -1 else record
        for record in records
    ]


def problems(root: Path) -> list[str]:
    found = Verification(plan_verification([root]), ThreadRunner(2)).findings()
    return [str(finding) for finding in found if finding.severity is Severity.PROBLEM]


def magics_and_codecs(root: Path) -> tuple[set[int], set[int]]:
    counted = TopicCounts(root).rows(ThreadRunner(2))
    rows = [row for row in counted if row.topic_partition.topic != CLUSTER_METADATA_TOPIC]
    return set().union(*(row.tally.magics for row in rows)), set().union(*(row.tally.codecs for row in rows))


@pytest.fixture
def copy(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return Path(shutil.copytree(unpack(request.param), tmp_path / "logs"))


@pytest.mark.parametrize("copy", OLD, indirect=True)
def test_old_formats_become_v2(copy: Path) -> None:
    before, codecs = read(copy), magics_and_codecs(copy)[1]
    done = upgraded(copy)
    assert not any(each.error for each in done)
    assert read(copy) == before
    assert magics_and_codecs(copy) == ({2}, codecs)
    assert problems(copy) == []
    assert not any(segment.base_offsets for each in upgraded(copy) for segment in each.segments)


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("copy", ["v431-killed-recovered"], indirect=True)
def test_every_batch_except_markers_gets_the_codec(copy: Path, codec: Codec) -> None:
    before, committed = read(copy), read(copy, "read_committed")
    assert not any(each.error for each in upgraded(copy, codec))
    assert read(copy) == before
    assert read(copy, "read_committed") == committed
    assert magics_and_codecs(copy)[1] == {codec}
    assert problems(copy) == []


@pytest.mark.parametrize("copy", ["v0821"], indirect=True)
def test_messages_are_put_together_and_segments_split(copy: Path) -> None:
    before = read(copy)
    done = upgraded(copy, Codec.NONE, segment_bytes=1024)
    assert any(len(segment.base_offsets) > 1 for each in done for segment in each.segments)
    assert read(copy) == before
    assert problems(copy) == []
    plain = next(each for each in done if each.plan.topic_partition.topic.startswith("old.none"))
    old, new = (sum(sizes) for sizes in zip(*((each.segment.size, each.size) for each in plain.segments), strict=True))
    assert new < old  # 61 bytes per batch, not per message


@pytest.mark.parametrize("copy", ["v0821"], indirect=True)
def test_a_partition_with_a_damaged_batch_stays_as_it_is(copy: Path) -> None:
    victim = next(path for path in sorted(copy.glob("old.none*/*.log")) if path.stat().st_size)
    damaged = bytearray(victim.read_bytes())
    damaged[-1] ^= 1
    victim.write_bytes(damaged)
    content = {path: path.read_bytes() for path in victim.parent.glob("*.log")}
    with opened(copy) as logs:
        done = list(upgrade(plan(logs, None), ThreadRunner(2)))
    failed = [each for each in done if each.error is not None]
    assert [each.plan.topic_partition.topic for each in failed] == [victim.parent.name.rpartition("-")[0]]
    assert str(victim) in str(failed[0].error) and "CRC" in str(failed[0].error)
    assert {path: path.read_bytes() for path in content} == content
    assert not list(copy.rglob("*.cleaned"))
    assert sum(bool(segment.base_offsets) for each in done for segment in each.segments) > 5


def test_damage_in_an_active_segment_does_not_stop_the_others(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    with LogManager(root, background=False) as logs:
        for topic in ("damaged", "sound"):
            logs.create_topic(topic, 1)
            logs.log(topic, 0).append_as_leader(bytearray(batch(0, 1)), leader_epoch=0)
            logs.log(topic, 0).append_as_leader(bytearray(batch(0, 1)), leader_epoch=0)
    victim = root / "damaged-0" / f"{0:020}.log"
    damaged = bytearray(victim.read_bytes())
    damaged[MAGIC_POSITION] = 9
    victim.write_bytes(damaged)
    bad, good = upgraded(root, Codec.GZIP)
    assert "magic 9" in str(bad.error) and victim.read_bytes() == damaged
    assert (good.topic_partition.topic, good.error, len(good.segments)) == ("sound", None, 1)


class NoSwap(LocalFileSystem):
    """Refuses to rename the log of the segment at offset 0 to `.swap`: the rename that decides a swap."""

    def rename(self, path: Path, target: Path) -> None:
        if target.name == f"{0:020}.log.swap":
            raise OSError(errno.ENOSPC, "No space left on device", str(target))
        super().rename(path, target)


@pytest.mark.parametrize("copy", ["v0821"], indirect=True)
def test_a_swap_that_fails_before_it_is_decided_is_undone(copy: Path) -> None:
    before = read(copy)
    configs, environment = {"log.segment.bytes": 1024}, Environment(ManualScheduler(CLOCK), CLOCK, NoSwap())
    with LogManager(copy, configs=configs, background=False, create=False, environment=environment) as logs:
        done = list(upgrade(plan(logs, Codec.NONE), ThreadRunner(2)))
        assert any(each.error for each in done)
    assert list(copy.rglob("*.swap"))
    with opened(copy):
        assert not list(copy.rglob("*.swap"))
    assert read(copy) == before
    assert problems(copy) == []
