"""Partly copied directories: what the logs hold is read as from complete ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import octavo
from octavo.scanner.reading.plan import IsolationLevel
from tests.cli.runs import octavo as run
from tests.golden.archives import unpack

BESIDE_THE_LOG = (".index", ".timeindex", ".txnindex", ".snapshot", "leader-epoch-checkpoint", "partition.metadata")
ARCHIVES = ["v431-clean", "v282", "v01103", "upgrade-mixed"]


def copy_without(archive: str, target: Path, *endings: str) -> Path:
    def left_out(_: str, names: list[str]) -> list[str]:
        return [name for name in names if name.endswith(endings)]

    shutil.copytree(unpack(archive), target, ignore=left_out)
    return target


@pytest.mark.parametrize("isolation_level", ["read_uncommitted", "read_committed"])
@pytest.mark.parametrize("archive", ARCHIVES)
@pytest.mark.parametrize("endings", [BESIDE_THE_LOG, (".txnindex",), (".snapshot", ".index")], ids="-".join)
def test_the_logs_alone_give_the_same_records(
    archive: str, isolation_level: IsolationLevel, endings: tuple[str, ...], tmp_path: Path
) -> None:
    part = copy_without(archive, tmp_path / "part", *endings)
    expected = octavo.scan(unpack(archive), isolation_level=isolation_level, on_damage="skip")
    found = octavo.scan(part, isolation_level=isolation_level, on_damage="skip")
    assert found.to_table().equals(expected.to_table())
    assert found.damage_count == expected.damage_count


def test_what_was_lost_is_reported(tmp_path: Path) -> None:
    part = copy_without("v431-clean", tmp_path / "part", ".txnindex")
    read = run("cat", str(part), "--isolation-level", "read_committed", "--output", str(tmp_path / "records"))
    assert read.exit == 0
    assert "aborted transactions are missing from the transaction indexes" in read.stderr
    checked = run("verify", str(part))
    assert checked.exit == 1
    assert ".txnindex: missing-entry" in checked.stdout


@pytest.mark.parametrize("archive", ARCHIVES)
def test_commands_read_the_logs_alone(archive: str, tmp_path: Path) -> None:
    part = copy_without(archive, tmp_path / "part", *BESIDE_THE_LOG)
    for folder in sorted(path for path in part.iterdir() if path.is_dir()):
        topic, _, partition = folder.name.rpartition("-")
        if partition == "delete":
            continue
        place = str(part), "--topic", topic, "--partition", partition
        for line in (
            ("lookup", *place, "--timestamp", "-1"),
            ("lookup", *place, "--timestamp", "0", "--isolation-level", "read_committed"),
            ("explain", str(min(folder.glob("*.log"))), "--json"),
        ):
            done = run(*line)
            assert (done.exit, done.stderr) == (0, ""), line
    assert run("topics", str(part), "--json").exit == 0
    checked = run("verify", str(part), "--json")
    found = [json.loads(line) for line in checked.stdout.splitlines()]
    problems = [line for line in found if line.get("severity") == "problem"]
    assert (checked.exit, checked.stderr) == (1, "")
    assert {line["problem"] for line in problems} - {"missing-entry"} == {"missing-file"}
    assert all(line["path"].endswith(BESIDE_THE_LOG) for line in problems)
    assert run("reindex", str(part), "--dry-run").exit == 0
