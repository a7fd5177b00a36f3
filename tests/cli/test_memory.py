"""Memory does not grow with the input: a command reads many times more bytes than it may hold."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from octavo.format.batches.batch import build_batch
from octavo.format.record import Record
from tests.scanner.segments import write_segment

SMALL, LARGE = 32 << 20, 384 << 20
SEGMENT = 64 << 20
# How much more memory a command may use for up to twelve times the input. Threads hold a few chunks of 2 MB each, more
# or fewer of them as they happen to overlap, and allocators are not exact: a dry run of compact takes 30 to 36 MB
# more, for 384 MB as for 1 GB.
ROOM = 48 << 20
COMPACT = ("compact", "{logs}", "--topic", "orders", "--config", "cleanup.policy=compact", "--dry-run", "--force")
RUN = """
import sys
from pathlib import Path
from octavo.cli import main
code = main(sys.argv[1:])
status = Path("/proc/self/status").read_text()
print("peak", status.split("VmHWM:")[1].split()[0], file=sys.stderr)
sys.exit(code)
"""


def batches() -> Iterator[bytes]:
    """An endless series of 16 KB batches; the CRC does not cover the base offset."""
    records = [Record(number, 1000, b"%04d" % number, b"value " * 170) for number in range(15)]
    content = build_batch(records)
    offset = 0
    while True:
        yield offset.to_bytes(8) + content[8:]
        offset += len(records)


def write(folder: Path, size: int) -> Path:
    found = batches()
    size_of_one = len(next(batches()))
    for start in range(0, size, SEGMENT):
        several = list(islice(found, min(SEGMENT, size - start) // size_of_one))
        write_segment(folder / "orders-0", int.from_bytes(several[0][:8]), *several, interval_bytes=4096)
    return folder


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("memory")
    return write(root / "small", SMALL), write(root / "large", LARGE)


def peak(*arguments: str) -> int:
    run = subprocess.run([sys.executable, "-c", RUN, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert run.returncode == 0, run.stderr
    return int(run.stderr.split()[-1]) << 10


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux reports a process's peak memory")
@pytest.mark.parametrize(
    "line",
    [
        ("verify", "{logs}"),
        ("topics", "{logs}"),
        ("cat", "{logs}", "--format", "raw"),
        ("cat", "{logs}", "--format", "json", "--max-messages", "20000"),
        ("cat", "{logs}", "--format", "arrow"),
        ("cat", "{logs}", "--format", "arrow", "--output", "{out}"),
        ("dump-log", "--print-data-log", "--files", "{logs}/orders-0/00000000000000000000.log"),
        (*COMPACT, "--config", "log.cleaner.dedupe.buffer.size=8388608"),
    ],
    ids=lambda line: " ".join(line),
)
def test_memory_is_flat(logs: tuple[Path, Path], tmp_path: Path, line: tuple[str, ...]) -> None:
    small, large = (peak(*(word.format(logs=root, out=tmp_path / "out") for word in line)) for root in logs)
    assert large < small + ROOM


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux reports a process's peak memory")
@pytest.mark.parametrize("output", ["file", "folder/"])
def test_an_export_to_parquet_holds_less_than_its_input(logs: tuple[Path, Path], tmp_path: Path, output: str) -> None:
    assert peak("cat", str(logs[1]), "--format", "parquet", "--output", f"{tmp_path}/{output}") < LARGE
