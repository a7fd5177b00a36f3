"""`octavo compact`: what it does, what it reports, and what keeps it from cleaning."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import octavo as octavo_library
from octavo.format.batches.walker import walk
from octavo.storage.directory.log_root import lock_directory
from tests.cli.runs import json_lines, octavo
from tests.golden.archives import unpack

RATIO = "--config", "min.cleanable.dirty.ratio=0.01"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Two compacted topics of a real broker, and one that is not compacted."""
    for name in ("compact.plain-0", "compact.txn-open-0", "codec.none-0"):
        shutil.copytree(unpack("v431-clean") / name, tmp_path / name)
    shutil.copytree(unpack("v431-clean") / "__cluster_metadata-0", tmp_path / "__cluster_metadata-0")
    (tmp_path / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":-1}')
    return tmp_path


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.log"))


def test_a_round_and_what_it_says(logs: Path) -> None:
    before = size(logs / "compact.plain-0")
    run = octavo("compact", str(logs), "--topic", "compact.plain", *RATIO, "--json")
    (row,) = json_lines(run.stdout)
    assert (run.exit, row["cleaned"], row["endOffset"], row["mapFull"]) == (0, True, 292, False)
    assert (row["recordsRead"], row["recordsKept"], row["keys"]) == (292, 26, 26)
    assert row["bytesBefore"] - row["bytesAfter"] == before - size(logs / "compact.plain-0")
    assert not list((logs / "compact.plain-0").glob("*.deleted"))
    assert "compact.plain 0 292" in (logs / "cleaner-offset-checkpoint").read_text().splitlines()
    again = octavo("compact", str(logs), "--topic", "compact.plain", *RATIO)
    assert again.exit == 0 and "not cleaned: 0 of" in again.stdout
    assert octavo("verify", str(logs)).exit == 0


def test_a_dry_run_changes_nothing_and_reports_the_gain(logs: Path) -> None:
    before = {path: path.read_bytes() for path in logs.rglob("*") if path.is_file()}
    lock = lock_directory(logs)  # as a broker would: a dry run takes no lock
    try:
        run = octavo("compact", str(logs), "--topic", "compact.plain", *RATIO, "--dry-run", "--json")
        words = octavo("compact", str(logs), "--topic", "compact.plain", *RATIO, "--dry-run").stdout
    finally:
        lock.release()
    (row,) = json_lines(run.stdout)
    after = {path: path.read_bytes() for path in logs.rglob("*") if path.is_file() and path.name != ".lock"}
    assert after == before and not row["cleaned"] and "would become" in words
    (done,) = json_lines(octavo("compact", str(logs), "--topic", "compact.plain", *RATIO, "--json").stdout)
    assert {**row, "cleaned": True} == done


def test_what_holds_the_cleaner_back(logs: Path) -> None:
    run = octavo("compact", str(logs), "--topic", "compact.txn-open", "--dry-run", "--json", "--now", "1700000009999")
    (row,) = json_lines(run.stdout)
    assert (row["heldBy"], row["holdOffset"]) == ("the last stable offset", 120)
    assert row["openTransaction"]["producerId"] == 1008 and row["openTransaction"]["ageMs"] > 0
    lag = "--config", "min.compaction.lag.ms=100000", "--now", "1700000050000"
    (row,) = json_lines(octavo("compact", str(logs), "--topic", "compact.plain", *lag, "--dry-run", "--json").stdout)
    assert (row["heldBy"], row["firstUncleanableOffset"], row["cleaned"]) == ("min.compaction.lag.ms", 0, False)


def test_the_ratio_decides_unless_it_is_forced(logs: Path) -> None:
    # C9
    kept = octavo("compact", str(logs), "--topic", "compact.plain")  # the topic's own minimum ratio is 1.0
    assert kept.exit == 0 and "not more than min.cleanable.dirty.ratio 1.0" in kept.stdout
    assert (
        octavo("compact", str(logs), "--topic", "compact.plain", "--force", "--json").stdout.count('"cleaned":true')
        == 1
    )
    again = octavo("compact", str(logs), "--topic", "compact.plain", "--force", "--json")
    (row,) = json_lines(again.stdout)
    assert (row["cleaned"], row["endOffset"], row["recordsKept"]) == (True, 292, 26)
    assert " (forced)\n" in octavo("compact", str(logs), "--topic", "compact.plain", "--force").stdout


def test_the_active_segment_of_a_small_topic_is_closed_on_request(tmp_path: Path) -> None:
    octavo("create", str(tmp_path), "--topic", "t", "--config", "cleanup.policy=compact")
    with octavo_library.LogDir(tmp_path, background=False) as logs, logs.producer() as producer:
        for number in range(10):
            producer.send("t", key=b"same", value=b"%d" % number)
    line = ("compact", str(tmp_path), "--topic", "t")
    held = octavo(*line)
    why = "the active segment from offset 0 on, which is never cleaned"
    assert held.stdout.endswith(f"  cannot go beyond offset 0: {why}; --roll closes it first\n")
    planned = octavo(*line, "--roll", "--dry-run").stdout
    assert "t-0: 1 segment of " in planned and "1 of 10 records stay" in planned
    assert sorted(path.name for path in (tmp_path / "t-0").glob("*.log")) == [f"{0:020}.log"]
    assert octavo(*line, "--roll").stdout == planned.replace("would become", "became")
    assert [record.value for record in octavo_library.scan(tmp_path).records()] == [b"9"]
    octavo(*line, "--roll")  # an empty active segment stays
    assert sorted(path.name for path in (tmp_path / "t-0").glob("*.log")) == [f"{0:020}.log", f"{10:020}.log"]
    assert octavo("verify", str(tmp_path)).exit == 0


def test_one_record_stays(tmp_path: Path) -> None:
    octavo("create", str(tmp_path), "--topic", "t", "--config", "cleanup.policy=compact")
    with octavo_library.LogDir(tmp_path, background=False) as logs, logs.producer() as producer:
        producer.send("t", key=b"k", value=b"v")
    assert "; 1 of 1 record stays; " in octavo("compact", str(tmp_path), "--topic", "t", "--roll").stdout


def test_the_time_to_judge_by_may_be_iso(logs: Path) -> None:
    line = ("compact", str(logs), "--topic", "compact.txn-open", "--dry-run", "--json", "--now")
    assert octavo(*line, "2023-11-14T22:13:29.999Z") == octavo(*line, "1700000009999")
    assert octavo(*line, "soon").exit == 2


def test_without_a_topic_all_compacted_ones_are_cleaned(logs: Path) -> None:
    found = json_lines(octavo("compact", str(logs), *RATIO, "--json").stdout)
    assert [(row["topic"], row["cleaned"]) for row in found] == [("compact.plain", True), ("compact.txn-open", True)]


def test_a_small_map_needs_several_rounds(logs: Path) -> None:
    # C10
    small = "--config", "log.cleaner.dedupe.buffer.size=1048600", "--config", "log.cleaner.io.buffer.load.factor=0.0003"
    ends = []
    for _ in range(30):
        (row,) = json_lines(octavo("compact", str(logs), "--topic", "compact.plain", *RATIO, *small, "--json").stdout)
        ends.append(row["endOffset"])
        if not row["mapFull"]:
            break
    assert len(ends) > 1 and ends == sorted(ends) and ends[-1] == 292


def test_both_hashes_leave_the_same_files(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("md5") / "logs"
    shutil.copytree(logs, other)
    found = []
    for place, words in ((logs, ()), (other, ("--key-hash", "md5"))):
        octavo("compact", str(place), "--topic", "compact.plain", *RATIO, "--now", "1800000000000", *words)
        found.append({path.name: path.read_bytes() for path in sorted((place / "compact.plain-0").glob("*.log"))})
    assert found[0] == found[1]


def test_a_damaged_batch_leaves_the_partition_as_it_is(logs: Path) -> None:
    path = sorted((logs / "compact.plain-0").glob("*.log"))[1]
    data = bytearray(path.read_bytes())
    data[int(walk(data).table[1]["position"]) + 40] ^= 1
    path.write_bytes(data)
    run = octavo("compact", str(logs), *RATIO)
    assert run.exit == 1 and f"compact.plain-0: not cleaned: {path}, position" in run.stdout
    assert path.read_bytes() == data and "compact.txn-open-0: 2 segments" in run.stdout


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("--topic", "codec.none"), 1, "cleanup.policy is delete, without compact"),
        (("--topic", "compact.plan"), 1, "did you mean compact.plain?"),
        (("--topic", "compact.plain", "--config", "log.cleaner.size=1"), 2, "log.cleaner.size"),
        (("--topic", "compact.plain", "--dry-run", "--spark"), 2, "--dry-run works only on this machine"),
        (("--now", "then"), 2, "expected milliseconds or ISO 8601"),
    ],
)
def test_what_is_refused(logs: Path, words: tuple[str, ...], code: int, text: str) -> None:
    run = octavo("compact", str(logs), *words)
    assert run.exit == code and text in run.stdout + run.stderr


def test_a_locked_directory_is_refused(logs: Path) -> None:
    lock = lock_directory(logs)
    try:
        run = octavo("compact", str(logs), *RATIO)
    finally:
        lock.release()
    assert run.exit == 1 and "lock" in run.stderr
