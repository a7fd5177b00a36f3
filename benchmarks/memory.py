"""How much memory the engine uses: it should depend on the number of partitions, not on the size of their logs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PARTITION_LIMIT_KB = 20.0
GROWTH_LIMIT_MB = 16.0

_OPENED = """
from benchmarks.memory import resident_kb
from benchmarks.storing import LogManager, many_partitions
root = many_partitions()
before = resident_kb()
with LogManager(root, background=False) as logs:
    print((resident_kb() - before) / len(logs.logs))
"""

_GROWN = """
import sys
from benchmarks.memory import resident_kb
from benchmarks.storing import new_log, sets
data = sets(float(sys.argv[1]))
with new_log() as log:
    for batches in data[:32]:
        log.append_as_leader(batches, leader_epoch=0, trusted=True)
    before = resident_kb()
    for batches in data[32:]:
        log.append_as_leader(batches, leader_epoch=0, trusted=True)
    print((resident_kb() - before) / 1024)
"""


def resident_kb() -> float:
    """The resident memory of this process, without mapped files."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


def report(scale: float, only: str, *, as_json: bool) -> None:
    """Measure each case in its own process and print one line for it."""
    for name, program, unit, limit in (
        ("memory of a partition", _OPENED, "KB", PARTITION_LIMIT_KB),
        ("memory as a log grows eightfold", _GROWN, "MB", GROWTH_LIMIT_MB),
    ):
        if only in name:
            command = [sys.executable, "-c", program, str(scale)]
            taken = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            if as_json:
                print(json.dumps({"job": name, "unit": unit, "taken": taken, "limit": limit}))
            else:
                verdict = "met" if taken <= limit else "MISSED"
                print(f"{name:38} {taken:8.1f} {unit}, limit {limit:.0f} {unit}: {verdict}")
