"""`--spark`: each command that has it gives the same results and output as without it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.runs import Run, octavo
from tests.golden.archives import unpack
from tests.spark.sessions import JVM_OPTIONS, why_not

NOW = "1800000000000"
COMMANDS = (
    ("verify", "clean"),
    ("topics", "clean", "--json"),
    ("cat", "mixed", "--output", "records", "--format", "parquet"),
    ("compact", "clean", "--force", "--now", NOW, "--json"),
    ("reindex", "bare", "--json"),
    ("upgrade", "mixed", "--compression-type", "lz4", "--json"),
)


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Two folders with the same three log directories, one of which has no indexes."""
    found = [tmp_path / "here", tmp_path / "there"]
    for folder in found:
        shutil.copytree(unpack("v431-clean"), folder / "clean")
        shutil.copytree(unpack("upgrade-mixed"), folder / "mixed")
        shutil.copytree(unpack("upgrade-mixed"), folder / "bare")
        for path in (folder / "bare").rglob("*index"):
            path.unlink()
    (found[0] / "records").mkdir()  # only the local run needs it: Spark's tasks always write into a folder
    return found


def test_the_result_is_the_same_on_spark(folders: list[Path], tmp_path: Path) -> None:
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    here, there = folders
    expected = [octavo(*command, folder=here) for command in COMMANDS]
    assert [run.exit for run in expected] == [0] * len(COMMANDS)
    done = on_spark(there, tmp_path / "conf")
    for command, run, other in zip(COMMANDS, expected, done, strict=True):
        assert other[:2] == run[:2], command
    names = [path.relative_to(here) for path in sorted(here.rglob("*")) if path.is_file()]
    assert names == [path.relative_to(there) for path in sorted(there.rglob("*")) if path.is_file()]
    for name in names:
        if name.suffix in (".log", ".index", ".timeindex", ".txnindex", ".parquet"):
            assert (there / name).read_bytes() == (here / name).read_bytes(), name


def on_spark(folder: Path, confs: Path) -> list[Run]:
    """Run the commands on Spark, with speculation on by default; none of them may print Spark's start-up messages."""
    confs.mkdir()
    (confs / "spark-defaults.conf").write_text("spark.speculation true\n")
    given = json.dumps([[*command, "--spark", "local[1]"] for command in COMMANDS])
    environment = {**os.environ, "SPARK_CONF_DIR": str(confs), "SPARK_SUBMIT_OPTS": JVM_OPTIONS}
    environment |= {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_HOSTNAME": "localhost",
        "PYSPARK_PYTHON": sys.executable,
    }
    process = subprocess.run(
        [sys.executable, "-m", "tests.cli.spark_commands", str(folder)],
        cwd=Path(__file__).parents[2], env=environment, input=given, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    # printed by the JVM itself
    said = [line for line in process.stderr.splitlines() if "incubator modules" not in line]
    assert said == []
    return [Run(*run) for run in json.loads(process.stdout)]
