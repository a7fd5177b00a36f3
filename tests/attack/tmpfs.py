"""Full disks for real: a tmpfs with little room, with background threads. Only for root."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path
from random import Random

from octavo.errors import OctavoError
from tests.attack import isolation
from tests.attack.after_loss import after_kill
from tests.attack.journal import Line, Memory
from tests.attack.scene import Scene
from tests.attack.tally import Tally
from tests.attack.works import all_works
from tests.attack.worlds import make_topics, opened

STEPS, MOST_REFUSALS = 400, 12


def reason_to_skip(folder: Path) -> str | None:
    """Why this cannot run here; None if it can."""
    if os.geteuid() != 0:
        return "only root can mount a tmpfs"
    try:
        _mount(folder, "size=100k")
    except subprocess.CalledProcessError as error:
        return f"no tmpfs can be mounted here: {error.stderr.decode().strip()}"
    _run("umount", str(folder))
    return None


def attack(seed: int, folder: Path) -> Tally:
    """Fill a disk with bytes or with files, close what can be closed, make room, open again."""
    draw, disk = Random(f"tmpfs {seed}"), folder / "disk"
    disk.mkdir()
    _mount(disk, f"size={draw.choice((400, 600, 1000))}k,nr_inodes={draw.choice((200, 400, 5000))}")
    try:
        lines = isolation.isolated(fill, disk / "logs", seed, seconds=60, notes=folder)
        _mount(disk, "remount,size=64m,nr_inodes=100000")
        tally: Tally = isolation.isolated(check, disk / "logs", lines, seconds=60, notes=folder)
    finally:
        _run("umount", "--lazy", str(disk))
    tally.counts["full disks of tmpfs"] = 1
    return tally


def fill(root: Path, seed: int) -> list[Line]:
    """Work until some steps have been refused, for at most `STEPS` steps; returns the lines of the journal."""
    journal, draw, refusals = Memory(), Random(seed), 0
    with suppress(OctavoError), opened(root) as logs:
        make_topics(logs)
        works = all_works(Scene(logs, journal, draw))
        for _ in range(STEPS):
            try:
                draw.choice(works).step()
            except OctavoError:
                refusals += 1
            if refusals == MOST_REFUSALS:
                break
    return journal.lines


def check(root: Path, lines: list[Line]) -> Tally:
    return after_kill(root, lines, is_crash=False)[0]


def _mount(folder: Path, options: str) -> None:
    _run("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder))


def _run(*line: str) -> None:
    subprocess.run(line, check=True, capture_output=True)
