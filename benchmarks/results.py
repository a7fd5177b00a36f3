"""What is kept in the file that BENCH_RESULTS names: one row per job that is compared with a peer or a time limit.

`make bench` names results.json, from which `benchmarks.plot` draws.
"""

from __future__ import annotations

import json
import os
import platform
import re
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

RESULTS = Path(__file__).with_name("results.json")


@dataclass(frozen=True)
class Result:
    """Best seconds of a job and of its peer, by CPU or wall time; `quoted`: the peer was measured elsewhere."""

    job: str
    seconds: float
    peer: str
    peer_seconds: float
    by: Literal["cpu", "wall"]
    quoted: bool
    scale: float
    date: str = ""
    machine: str = ""

    @property
    def times(self) -> float:
        """How many times as fast as the peer."""
        return self.peer_seconds / self.seconds


def keep(result: Result) -> None:
    """Replace the job's row, if results are to be kept."""
    if not (path := os.environ.get("BENCH_RESULTS")):
        return
    rows = {row["job"]: row for row in (json.loads(Path(path).read_text()) if Path(path).exists() else [])}
    seconds = {"seconds": round(result.seconds, 3), "peer_seconds": round(result.peer_seconds, 3)}
    rows[result.job] = {**asdict(result), **seconds, "date": f"{datetime.now(UTC):%Y-%m-%d}", "machine": machine()}
    Path(path).write_text(json.dumps(list(rows.values()), indent=1) + "\n")


def kept(path: Path = RESULTS) -> dict[str, Result]:
    return {row["job"]: Result(**row) for row in json.loads(path.read_text())}


def machine() -> str:
    """The number and the model of the processors."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.*)", info.read_text()) if info.exists() else None
    return f"{os.cpu_count()} × {found[1].strip() if found else platform.machine()}"
