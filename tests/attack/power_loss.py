"""Power losses: at any operation on files, what was not synced is gone, completely or in part."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from random import Random

from tests.attack.after_loss import after_power_loss
from tests.attack.life import Life
from tests.attack.tally import Tally
from tests.crash.fault_filesystem import Crash, FaultFileSystem, Loss

ROOT = Path("/logs")
STEPS = 60
OPERATIONS = 2200  # about the number of operations in a life; beyond it the power is lost after the close


def attack(seed: int, folder: Path) -> Tally:
    """One power loss, at an operation that the seed chooses; checked on real files."""
    draw = Random(f"power loss {seed}")
    life = draw.randint(0, 4)  # few lives, so that many seeds reach each of their operations
    stop_at, loss = draw.randint(1, OPERATIONS), draw.choice((Loss.POWER, Loss.TORN))
    files = FaultFileSystem(stop_at)
    lived = Life(ROOT, files, life)
    with suppress(Crash):
        lived.live(STEPS)
    root = write_out(files.after_crash(loss, seed), folder / "logs")
    found = after_power_loss(root, lived.journal.lines)
    found.counts["power losses"] = 1
    place = f"life {life}, operation {stop_at}, {loss.name}"
    found.findings = [f"{place}: {finding}" for finding in found.findings]
    return found


def write_out(files: FaultFileSystem, folder: Path) -> Path:
    """Write the files of an in-memory filesystem as real ones."""
    folder.mkdir(parents=True)
    for path, inode in files.entries.items():
        target = folder / path.relative_to(ROOT)
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(inode.content)
    return folder
