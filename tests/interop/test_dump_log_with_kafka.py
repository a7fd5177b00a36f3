"""Real Kafka's dump-log and ours print the same of damaged files, up to the byte where it fails."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.cli.runs import Run, octavo
from tests.fuzz.mutations import mutated
from tests.golden import archives

pytestmark = pytest.mark.kafka

ARCHIVES = (
    "v431-clean",
    "v431-two-dirs",
    "upgrade-mixed",
    "v0901-compacted",
    "v01022-compacted",
    "seed-004-log-format",
)
LARGEST = 20_000
CASES = 60
LOG_FLAGS = (
    [],
    ["--deep-iteration"],
    ["--print-data-log"],
    ["--print-data-log", "--skip-record-metadata"],
    ["--deep-iteration", "--max-bytes", "500"],
    ["--remote-log-metadata-decoder"],
)
INDEX_FLAGS = ([], ["--verify-index-only"], ["--index-sanity-check"], ["--max-message-size", "300"])


@pytest.fixture(scope="module")
def real_tool(jvm: ModuleType) -> Callable[[list[str]], tuple[Run, bool]]:
    """Runs Kafka's tool inside the Java machine: what it printed, and whether it died of an exception."""
    tool = jvm.JClass("org.apache.kafka.tools.DumpLogSegments")
    system = jvm.java.lang.System
    before = system.out, system.err

    def captured() -> tuple[Any, Any]:
        buffer = jvm.java.io.ByteArrayOutputStream()
        return buffer, jvm.java.io.PrintStream(buffer, True, "UTF-8")

    def run(arguments: list[str]) -> tuple[Run, bool]:
        (out, out_stream), (err, err_stream) = captured(), captured()
        system.setOut(out_stream)
        system.setErr(err_stream)
        try:
            tool.main(jvm.JArray(jvm.JString)(arguments))
            died = False
        except jvm.JException:
            died = True
        finally:
            system.setOut(before[0])
            system.setErr(before[1])
        printed = [bytes(stream.toByteArray()).decode("utf-8") for stream in (out, err)]
        return Run(int(died), *printed), died

    return run


def sources(suffix: str) -> list[Path]:
    return [
        path
        for archive in ARCHIVES
        for path in archives.files(archive, f"*{suffix}")
        if 0 < path.stat().st_size <= LARGEST and path.name[0].isdigit()
    ]


def damage(chance: random.Random, file: Path, folder: Path) -> Path:
    """A copy of a segment with one of its files changed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for sibling in file.parent.glob(f"{file.name.partition('.')[0]}.*"):
        shutil.copy(sibling, folder / sibling.name)
    victim = folder / file.name
    log = victim.with_suffix(".log")
    if victim.suffix in (".index", ".timeindex") and log.exists() and chance.random() < 0.5:
        victim = log
    victim.write_bytes(mutated(chance, victim.read_bytes(), [b"\0" * 100]))
    return folder / file.name


@pytest.mark.parametrize("suffix", [".log", ".index", ".timeindex", ".snapshot", ".txnindex"])
def test_damaged_files(real_tool: Callable[[list[str]], tuple[Run, bool]], tmp_path: Path, suffix: str) -> None:
    chance = random.Random(suffix)
    found = sources(suffix)
    for _ in range(CASES if suffix != ".log" else 4 * CASES):
        file = damage(chance, chance.choice(found), tmp_path / "segment")
        before = {path: path.read_bytes() for path in file.parent.iterdir()}
        flags = chance.choice(LOG_FLAGS if suffix == ".log" else INDEX_FLAGS)
        arguments = ["--files", str(file), *flags]
        ours = octavo("dump-log", *arguments)
        assert {path: path.read_bytes() for path in file.parent.iterdir()} == before
        theirs, died = real_tool(arguments)
        if died:
            assert ours.stderr.startswith("octavo: ")
            ours, theirs = ours._replace(stderr=""), theirs._replace(stderr="")
        assert ours == theirs, arguments
