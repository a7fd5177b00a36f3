"""Power losses on a real filesystem: an ext4 image is copied while its writer is stopped, and the copy is mounted.

What the kernel had not written by then is missing from the copy. Only for root, where loop devices can be mounted.
"""

from __future__ import annotations

import filecmp
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from tests.attack import isolation
from tests.attack.after_loss import after_power_loss
from tests.attack.journal import Line
from tests.attack.lines import Lines
from tests.attack.tally import Tally
from tests.attack.worker import work

SIZE_BYTES = 48 << 20
OPTIONS = ("commit=1", "commit=1,data=writeback")


def reason_to_skip(folder: Path) -> str | None:
    """Why this cannot run here; None if it can."""
    if os.geteuid() != 0:
        return "only root can mount images"
    if shutil.which("mkfs.ext4") is None:
        return "there is no mkfs.ext4"
    try:
        with mounted(make_image(folder / "probe.img"), folder / "probe"):
            return None
    except subprocess.CalledProcessError as error:
        return f"no image can be mounted here: {error.stderr.decode().strip()}"


def attack(seed: int, folder: Path) -> Tally:
    """One power loss while everything happens at once."""
    draw, image, copy = Random(f"ext4 {seed}"), make_image(folder / "disk.img"), folder / "after.img"
    with mounted(image, folder / "disk", draw.choice(OPTIONS)) as disk:
        lines = _stopped(disk / "logs", seed, draw, image, copy)
    image.unlink()
    (folder / "journal.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with mounted(copy, folder / "after") as disk:
        tally: Tally = isolation.isolated(after_power_loss, disk / "logs", lines, seconds=60, notes=folder)
    tally.counts["power losses of ext4"] = 1
    return tally


def _stopped(root: Path, seed: int, draw: Random, image: Path, copy: Path) -> list[Line]:
    """Copy the image while the writer is stopped; only what it reported until then counts."""
    process, receiving = isolation.start(work, root, seed, 0)
    lines, wanted = Lines(receiving), draw.randint(0, 1500)
    try:
        lines.wait_for(wanted)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGSTOP)
        lines.take_what_is_there()
        _copy_at_once(image, copy)
    finally:
        process.kill()
        process.join()
        receiving.close()
    return lines.all


def _copy_at_once(image: Path, copy: Path) -> None:
    """The image as of one moment, as a power loss leaves it.

    The kernel continues writing while the writer is stopped. A copy with early blocks from before a checkpoint of
    ext4's journal and late ones from after it would lack what was synced, which no real disk does. If two copies are
    the same, nothing was written between them.
    """
    again = copy.with_suffix(".again")
    _run("cp", "--sparse=always", str(image), str(copy))
    while True:
        _run("cp", "--sparse=always", str(image), str(again))
        if filecmp.cmp(copy, again, shallow=False):
            break
        again.replace(copy)
    again.unlink()


def make_image(path: Path) -> Path:
    with path.open("wb") as file:
        file.truncate(SIZE_BYTES)
    _run("mkfs.ext4", "-q", "-F", str(path))
    return path


@contextmanager
def mounted(image: Path, folder: Path, options: str = "defaults") -> Iterator[Path]:
    folder.mkdir()
    _run("mount", "-o", f"loop,{options}", str(image), str(folder))
    try:
        yield folder
    finally:
        _run("umount", "--lazy", str(folder))


def _run(*line: str) -> None:
    subprocess.run(line, check=True, capture_output=True)
