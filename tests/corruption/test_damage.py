"""Larger damage: files cut, zeroed, overwritten, doubled, emptied or lost. Every command reads what is whole.

`make soak` does more of it (OCTAVO_FLIPS).
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.runs import octavo
from tests.corruption.scene import Scene

ARCHIVES = ["v431-clean", "v431-killed", "v282", "upgrade-mixed", "v0821"]
CASES = max(int(os.environ.get("OCTAVO_FLIPS", "0")) // 10, 50)

Damage = Callable[[bytes, random.Random], bytes]


def cut(content: bytes, draw: random.Random) -> bytes:
    return content[: draw.randrange(len(content))]


def zeroed(content: bytes, draw: random.Random) -> bytes:
    start, end = sorted(draw.choices(range(len(content) + 1), k=2))
    return content[:start] + bytes(end - start) + content[end:]


def overwritten(content: bytes, draw: random.Random) -> bytes:
    start, end = sorted(draw.choices(range(len(content) + 1), k=2))
    return content[:start] + draw.randbytes(end - start) + content[end:]


def missing_piece(content: bytes, draw: random.Random) -> bytes:
    start, end = sorted(draw.choices(range(len(content) + 1), k=2))
    return content[:start] + content[end:]


def doubled_piece(content: bytes, draw: random.Random) -> bytes:
    start, end = sorted(draw.choices(range(len(content) + 1), k=2))
    return content[:end] + content[start:]


DAMAGES: list[Damage] = [cut, zeroed, overwritten, missing_piece, doubled_piece]


@pytest.mark.parametrize("archive", ARCHIVES)
def test_no_damage_ends_a_command(archive: str, tmp_path: Path) -> None:
    scene = Scene.of(archive, tmp_path / archive)
    draw = random.Random(f"{archive}{CASES}")
    folders = sorted({path.parent for path in scene.files if any(path.parent.glob("*.log"))})
    for number in range(CASES // len(ARCHIVES)):
        case = tmp_path / f"case-{number}"
        folder = draw.choice(folders)
        shutil.copytree(folder, case / folder.name)
        topic = folder.name.rpartition("-")[0]
        for _ in range(draw.choice((1, 1, 3))):
            _damage(draw.choice([path for path in (case / folder.name).iterdir() if path.is_file()]), draw)
        place = "--topic", topic, "--partition", "0"
        for command in (
            ("verify",),
            ("topics", "--json"),
            ("cat", "--topic", topic, "--output", str(tmp_path / "records")),
            ("cat", "--topic", topic, "--isolation-level", "read_committed", "--output", str(tmp_path / "records")),
            ("lookup", *place, "--timestamp", str(draw.randrange(2 * 10**12))),
            ("lookup", *place, "--timestamp", "-3", "--isolation-level", "read_committed"),
            ("lookup", *place, "--offset", str(draw.randrange(500))),
            ("reindex", "--dry-run"),
        ):
            run = octavo(command[0], str(case), *command[1:])
            assert run.exit in (0, 1), f"{command}: {run}"
            assert "unexpected " not in run.stderr, f"{command} after damage to {folder}: {run.stderr}"
        shutil.rmtree(case)


def _damage(path: Path, draw: random.Random) -> None:
    size = min(path.stat().st_size, 1 << 16)  # in an index's 10 MB of zeros the first are enough
    if draw.random() < 0.1:
        path.unlink()
        return
    content = path.read_bytes()[:size]
    if content:
        path.write_bytes(draw.choice(DAMAGES)(content, draw))
    os.utime(path, (1_000_000_000, 1_000_000_000))
