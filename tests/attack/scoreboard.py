"""The scoreboard: what was done to the library, and the outcome."""

from __future__ import annotations

from tests.attack.tally import Tally

SURVIVED = {
    "kills": "kill -9 of a busy process",
    "power losses": "power losses, at any operation on files",
    "power losses of ext4": "power losses of an ext4 disk",
    "full disks": "disks full at any operation",
    "full disks of tmpfs": "disks full for real",
    "hostile files": "hostile files read and opened",
    "interrupts": "Ctrl-C in the middle of a call",
    "forks": "forks with an open directory",
    "seconds of concurrency": "seconds of everything at once",
    "records acknowledged": "records acknowledged, each there once",
    "records acknowledged and flushed": "records flushed before a power loss, each there once",
}
# Words that the sentences of findings contain.
FOUND = {
    "records lost": "lost",
    "records doubled": "more than once",
    "transactions not whole": "records are seen",
    "directories offline": "offline:",
    "hangs": "hangs",
}


def scoreboard(tally: Tally, skipped: dict[str, str], seed: int, seconds: float) -> str:
    rows = [f"{tally.counts[name]:>12,}  {meaning}" for name, meaning in SURVIVED.items() if tally.counts[name]]
    rows += [f"{'-':>12}  {SURVIVED[name]}: skipped, {reason}" for name, reason in skipped.items()]
    for meaning, word in FOUND.items():
        rows.append(f"{sum(word in finding for finding in tally.findings):>12,}  findings of {meaning}")
    return "\n".join([*rows, f"{len(tally.findings):>12,}  findings in all, with seed {seed}, in {seconds:.0f} s"])
