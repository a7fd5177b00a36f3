"""Our cleaner starts with what a real 4.3.1 cleaner found, and leaves the same segments, batches, bytes and
checkpoints."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from octavo.config import BrokerConfig
from octavo.format.batches.batch import decode_batch
from octavo.format.batches.walker import walk
from octavo.format.names import TopicPartition
from octavo.kernels.layout import CODEC_MASK, DELETE_HORIZON
from octavo.storage.cleaner.clean import Cleaner
from octavo.storage.cleaner.offset_map import MapLimits
from octavo.storage.cleaner.plan import Candidate
from octavo.storage.environment import Environment
from octavo.storage.log_manager import LogManager
from octavo.system.clock import ManualClock, SystemClock
from octavo.system.runner import ThreadRunner
from octavo.system.scheduler import EndScheduler
from tests.golden.archives import entry, unpack

LIMITS = MapLimits.of(BrokerConfig.of({"log.cleaner.dedupe.buffer.size": 8388608}), bytes(16))
INDEXES = ".index", ".timeindex", ".txnindex"


def topics(archive: str, known: str) -> list[str]:
    if "one_round" in entry(archive):
        return [str(topic) for topic in entry(archive)["one_round"]]
    folders = {path.name.rsplit("-", 1)[0] for path in unpack(archive).iterdir() if path.is_dir()}
    return sorted(folders & set(entry(known)["topics"]))


def cases() -> Iterator[tuple[str, str]]:
    for archive, known in (
        ("v431-compact-pass1", "v431-clean"),
        ("v431-compact-pass2", "v431-clean"),
        ("v431-legacy-pass1", "v431-legacy-pass1"),
        ("v431-legacy-pass2", "v431-legacy-pass1"),
    ):
        for topic in topics(archive, known):
            yield archive, topic


def of_topic(folder: Path, topic: str) -> list[Path]:
    return sorted(path for path in folder.glob(f"{topic}-[0-9]*") if path.name.rsplit("-", 1)[0] == topic)


def found_by_cleaner(archive: str, topic: str, root: Path) -> None:
    """Recreate what the round began with."""
    if archive == "v431-compact-pass1":
        for folder in of_topic(unpack("v431-clean"), topic):
            shutil.copytree(folder, root / folder.name)
    elif archive == "v431-legacy-pass1":
        source = unpack(entry(archive)["topics"][topic]["segments_from"])
        for file in (file for folder in of_topic(source, topic) for file in folder.glob("*.log")):
            (root / file.parent.name).mkdir(exist_ok=True)
            shutil.copy2(file, root / file.parent.name)
        LogManager(root, background=False).close()
        return
    else:
        before_second_pass(archive, topic, root)
    (root / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":-1}')


def before_second_pass(archive: str, topic: str, root: Path) -> None:
    """The segments that the second round left as .deleted, those it did not touch, and the first round's checkpoint."""
    done, lines = entry(archive.replace("pass2", "pass1"))["cleaner_offsets"], []
    for theirs in of_topic(unpack(archive), topic):
        number = theirs.name.rsplit("-", 1)[1]
        key = f"{topic} {number}" if f"{topic} {number}" in done["pass1"] else topic
        mine = root / theirs.name
        mine.mkdir()
        for file in theirs.iterdir():
            if file.suffix == ".deleted":
                shutil.copy2(file, mine / file.name.removesuffix(".deleted"))
        for file in theirs.iterdir():
            is_segment = file.name[0].isdigit() and file.suffix != ".snapshot"
            untouched = not is_segment or int(file.name.split(".")[0]) >= done["pass2"][key]
            if file.suffix != ".deleted" and untouched and not (mine / file.name).exists():
                shutil.copy2(file, mine / file.name)
        lines.append(f"{topic} {number} {done['pass1'][key]}\n")
    (root / "cleaner-offset-checkpoint").write_text(f"0\n{len(lines)}\n" + "".join(lines))


def horizons(folder: Path) -> list[int]:
    rows = (row for log in sorted(folder.glob("*.log")) for row in walk(log.read_bytes()).table if row["magic"] == 2)
    return [int(row["base_timestamp"]) for row in rows if row["attributes"] & DELETE_HORIZON]


def clock(root: Path, theirs: Path, topic: str, retention_ms: int) -> ManualClock | SystemClock:
    """The time of the real round, from a delete horizon it left; otherwise later than everything it found."""
    before = set(horizons(root / f"{topic}-0"))
    new = [horizon for horizon in horizons(theirs / f"{topic}-0") if horizon not in before]
    if new:
        return ManualClock(new[-1] - retention_ms)
    return ManualClock(max(before) + 1) if before else SystemClock()


def run(root: Path, topic: str, archive: str) -> dict[TopicPartition, int | None]:
    known = entry("v431-clean" if "compact" in archive else "v431-legacy-pass1")["topics"][topic]["config"]
    config = {**known, "min.cleanable.dirty.ratio": "0.01", "retention.ms": "-1"}
    time = clock(root, unpack(archive), topic, int(config.get("delete.retention.ms", 86400000)))
    environment = Environment(EndScheduler(), time)
    with LogManager(root, topic_configs={topic: config}, environment=environment, background=False) as logs:
        log_root, now_ms = logs.roots[0], time.time_ms()
        checkpoints = log_root.checkpoints.cleaner_offsets()
        found = [Candidate.of(name, log, log_root, checkpoints.get(name), now_ms) for name, log in logs.logs.items()]
        due = [candidate for candidate in found if candidate.cleanable.is_eligible(candidate.log.config)]
        for outcome in Cleaner(ThreadRunner(2), environment.filesystem, LIMITS, now_ms).clean(due):
            assert outcome.error is None
        return {name: logs.roots[0].checkpoints.cleaner_offsets().get(name) for name in logs.logs}


def shapes(log: Path) -> list[tuple[object, ...]]:
    """The batches without what a compressor may choose (size and CRC), and their records.

    Each partition's round had its own time; only partition 0's is known, so only its horizons can be compared.
    """
    data = log.read_bytes()
    found = []
    for row in walk(data).table:
        header, records = decode_batch(data, int(row["position"]))
        left_out = {"position", "size", "crc"}
        if header.delete_horizon_ms is not None and not log.parent.name.endswith("-0"):
            left_out.add("base_timestamp")
        fields = [getattr(header, name) for name in header.__slots__ if name not in left_out]
        found.append((*fields, records))
    return found


@pytest.mark.parametrize(("archive", "topic"), list(cases()))
def test_a_round_leaves_what_kafka_left(archive: str, topic: str, tmp_path: Path) -> None:
    # F14 C7 C11
    found_by_cleaner(archive, topic, tmp_path)
    offsets = run(tmp_path, topic, archive)
    if archive.endswith("pass1"):
        stored = entry(archive)["cleaner_offsets"]["pass1"]
        for partition, offset in offsets.items():
            assert offset == stored.get(f"{topic} {partition.partition}", stored.get(topic))
    for theirs in of_topic(unpack(archive), topic):
        mine = tmp_path / theirs.name
        names = sorted(path.name for path in theirs.glob("*.log"))
        assert sorted(path.name for path in mine.glob("*.log")) == names
        for name in names:
            assert shapes(mine / name) == shapes(theirs / name)
            is_plain = not (walk((theirs / name).read_bytes()).table["attributes"] & CODEC_MASK).any()
            if is_plain and theirs.name.endswith("-0"):  # the time was taken from partition 0
                assert (mine / name).read_bytes() == (theirs / name).read_bytes()
                for kind in INDEXES if name != names[-1] else ():  # the last one is never cleaned
                    assert content(mine / name, kind) == content(theirs / name, kind), kind


def content(log: Path, kind: str) -> bytes | None:
    path = log.with_suffix(kind)
    return path.read_bytes() if path.exists() else None
