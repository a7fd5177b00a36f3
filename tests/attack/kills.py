"""kill -9 of a process that does everything at once: what it acknowledged is there, once, and nothing is half done."""

from __future__ import annotations

import json
import select
from pathlib import Path
from random import Random

from tests.attack import isolation
from tests.attack.after_loss import after_kill
from tests.attack.journal import Line
from tests.attack.lines import Lines
from tests.attack.tally import Tally
from tests.attack.worker import work

KILLS_OF_ONE_DIRECTORY = 10
PATIENCE_SECONDS = 60


def attack(seed: int, folder: Path, kills: int = KILLS_OF_ONE_DIRECTORY) -> Tally:
    """Kill the owners of one directory, one after the other; check it after each kill, and continue with it."""
    draw, root, lines, tally = Random(seed), folder / "logs", [], Tally()
    for generation in range(kills):
        lines += killed(root, seed, generation, draw)
        (folder / "journal.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        found, topics = isolation.isolated(after_kill, root, lines, seconds=PATIENCE_SECONDS, notes=folder)
        # What was in doubt is decided now.
        lines += [["done", f"admin{number}", topics.get(f"admin{number}")] for number in range(5)]
        tally.counts["kills"] += 1
        tally.findings += [f"kill {generation}: {finding}" for finding in found.findings]
        if tally.findings:
            break
        tally.counts["records acknowledged"] = found.counts["records acknowledged"]
    return tally


def killed(root: Path, seed: int, generation: int, draw: Random) -> list[Line]:
    """What a worker reports until it is killed: while it opens the directory, or after some lines."""
    process, receiving = isolation.start(work, root, seed, generation)
    lines, wanted = Lines(receiving), 0 if draw.random() < 0.25 else draw.randint(1, 600)
    try:
        lines.wait_for(wanted)
        if wanted == 0:
            select.select([], [], [], draw.random() * 0.1)
        process.kill()
        process.join()
        lines.take_what_is_there()
    finally:
        process.kill()
        receiving.close()
    return lines.all
