"""Streams over a live directory neither lose nor repeat records: runs tests.spark.live_stream in its own process.

It takes as long as it needs to see micro-batches and new partitions; `make soak` takes ten minutes
(OCTAVO_LIVE_SECONDS=600).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interop.broker import KAFKA_VERSION
from tests.interop.jars import kafka_jars

SECONDS = float(os.environ.get("OCTAVO_LIVE_SECONDS", "0"))
PATIENCE_SECONDS = 600


@pytest.mark.kafka
@pytest.mark.usefixtures("java")
def test_streams_over_a_live_directory_neither_lose_nor_repeat(tmp_path: Path) -> None:  # T6
    kafka_jars(KAFKA_VERSION)  # skips the test without them
    pytest.importorskip("jpype", reason="JPype is not installed")
    command = [sys.executable, "-m", "tests.spark.live_stream", str(tmp_path), str(SECONDS)]
    root, patience = Path(__file__).parents[2], SECONDS + PATIENCE_SECONDS
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=patience, check=False)
    print(done.stdout)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-5000:]}"
