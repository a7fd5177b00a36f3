"""What a command loads: start-up is most of a short command's time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from octavo import kernels
from tests.dependencies import HEAVY
from tests.scanner.segments import write_segment
from tests.storage.batches import batch

SLOW = {"dataclasses", "pathlib", "traceback"}  # modules of the standard library that take a few ms each


def loaded(*arguments: str) -> set[str]:
    code = "import sys; from octavo.cli import main; main(); print(*sys.modules, file=sys.stderr)"
    run = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in run.stderr.split()}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write_segment(tmp_path / "orders-0", 0, batch(0, 5))


@pytest.mark.skipif(not kernels.COMPILED, reason="the plain-Python twin computes with numpy")
def test_a_dump_of_batches_does_without_numpy(log: Path) -> None:
    assert not loaded("dump-log", "--files", str(log)) & (HEAVY | SLOW)


def test_a_dump_of_records_does_without_click(log: Path) -> None:
    assert loaded("dump-log", "--print-data-log", "--files", str(log)) & HEAVY == {"numpy"}


def test_a_lookup_does_without_pyarrow(log: Path) -> None:
    place = str(log.parent.parent), "--topic", "orders", "--partition", "0"
    assert loaded("lookup", *place, "--timestamp", "-1") & HEAVY == {"numpy", "click"}


def test_the_help_loads_only_click() -> None:
    assert loaded("--help") & HEAVY == {"click"}
