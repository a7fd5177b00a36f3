"""The jobs of docs/spark-guide.md run as it shows them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.usefixtures("java")
def test_the_guide_runs(tmp_path: Path) -> None:  # T6
    command = [sys.executable, "-m", "tests.spark.guide_driver", str(tmp_path)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-3000:]}"
