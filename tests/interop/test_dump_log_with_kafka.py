"""Real Kafka's dump-log and ours print the same for damaged files, up to the byte where Kafka's fails."""

from __future__ import annotations

import random
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from octavo.cli.dump_log.topic_decoders import TOPIC_DECODERS
from tests.cli.runs import Run, octavo
from tests.format.crafted import seal
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
    *([f"--{decoder}"] for decoder in TOPIC_DECODERS),
)
DECODER_OF = {
    "__consumer_offsets": "--offsets-decoder",
    "__transaction_state": "--transaction-log-decoder",
    "__cluster_metadata": "--cluster-metadata-decoder",
    "__share_group_state": "--share-group-state-decoder",
}
INDEX_FLAGS: tuple[list[str], ...] = (
    [],
    ["--verify-index-only"],
    ["--index-sanity-check"],
    ["--max-message-size", "300"],
)


@pytest.fixture(scope="module")
def real_tool(jvm: ModuleType) -> Callable[[list[str]], tuple[Run, bool]]:
    """Runs Kafka's tool inside the JVM: its output, and whether it died with an exception."""
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
    changed = mutated(chance, victim.read_bytes(), [b"\0" * 100])
    if victim.suffix == ".log" and chance.random() < 0.5:
        repair_crcs(changed)
    victim.write_bytes(changed)
    return folder / file.name


def repair_crcs(log: bytearray) -> None:
    """Give each batch a correct CRC, so that the tools look at what is wrong inside."""
    position = 0
    while position + 17 <= len(log):
        (size,) = struct.unpack_from(">i", log, position + 8)
        end = position + 12 + size
        if size < 14 or end > len(log):
            break
        seal(log, position, end)
        position = end


def flags_for(chance: random.Random, file: Path) -> list[str]:
    if file.suffix != ".log":
        return chance.choice(INDEX_FLAGS)
    decoder = DECODER_OF.get(file.parent.name.rpartition("-")[0])
    return [decoder] if decoder is not None and chance.random() < 0.7 else chance.choice(LOG_FLAGS)


@pytest.mark.parametrize("suffix", [".log", ".index", ".timeindex", ".snapshot", ".txnindex"])
def test_damaged_files_are_printed_as_kafka_prints_them(
    real_tool: Callable[[list[str]], tuple[Run, bool]], tmp_path: Path, suffix: str
) -> None:
    chance = random.Random(suffix)
    found = sources(suffix)
    for _ in range(CASES if suffix != ".log" else 4 * CASES):
        source = chance.choice(found)
        file = damage(chance, source, tmp_path / "segment")
        before = {path: path.read_bytes() for path in file.parent.iterdir()}
        arguments = ["--files", str(file), *flags_for(chance, source)]
        ours = octavo("dump-log", *arguments)
        assert {path: path.read_bytes() for path in file.parent.iterdir()} == before
        theirs, died = real_tool(arguments)
        if died:
            assert ours.stderr.startswith("octavo: ")
            ours, theirs = ours._replace(stderr=""), theirs._replace(stderr="")
        assert ours == theirs, arguments
