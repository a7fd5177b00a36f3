"""Larger damage: files are cut, zeroed, overwritten or lost, or pieces of them are missing or doubled.

Commands report it and exit with 1 if it concerns them; none fails unexpectedly. `make soak` tries more (OCTAVO_FLIPS).
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from octavo import scan
from octavo.scanner.reading.plan import IsolationLevel
from tests.cli.runs import Run, octavo
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
def test_no_damage_makes_a_command_fail_unexpectedly(archive: str, tmp_path: Path) -> None:
    scene = Scene.of(archive, tmp_path / archive)
    draw = random.Random(f"{archive}{CASES}")
    folders = sorted({path.parent for path in scene.files if path.suffix == ".log" and path.parent.name[-1].isdigit()})
    for number in range(CASES // len(ARCHIVES)):
        case = tmp_path / f"case-{number}"
        folder = draw.choice(folders)
        shutil.copytree(folder, case / folder.name)
        topic, _, partition = folder.name.rpartition("-")
        for _ in range(draw.choice((1, 1, 3))):
            _damage(draw.choice([path for path in (case / folder.name).iterdir() if path.is_file()]), draw)
        place = "--topic", topic, "--partition", partition
        output = "--topic", topic, "--output", str(tmp_path / "records")
        committed = "--isolation-level", "read_committed"
        is_damaged, is_damaged_for_committed = skips(case, topic), skips(case, topic, "read_committed")
        run = ended("verify", str(case))
        assert run.exit == ("problem: " in run.stdout) >= is_damaged, run
        for (name, *words), is_failure in (
            (("topics", "--json"), is_damaged),
            (("cat", *output), is_damaged),
            (("cat", *output, *committed), is_damaged_for_committed),
        ):
            run = ended(name, str(case), *words)
            assert run.exit == is_failure, run
        for question in (
            ("--timestamp", str(draw.randrange(2 * 10**12))),
            ("--timestamp", "-3", *committed),
            ("--offset", str(draw.randrange(500))),
        ):
            run = ended("lookup", str(case), *place, *question)
            is_in_the_way = "may hold what was looked for" in run.stderr  # not all damage is
            assert is_in_the_way <= run.exit <= (is_damaged or is_damaged_for_committed), run
        run = ended("reindex", str(case), "--dry-run")
        assert run.exit == ("can be read only up to" in run.stdout), run
        shutil.rmtree(case)


def ended(*words: str) -> Run:
    """Run a command, which may report damage but must not fail with an unexpected error."""
    run = octavo(*words)
    assert "unexpected " not in run.stderr, f"{words}: {run.stderr}"
    return run


def skips(place: Path, topic: str, isolation_level: IsolationLevel = "read_uncommitted") -> bool:
    """Whether a scan of the topic skips damage."""
    records = scan(place, topics=[topic], on_damage="skip", isolation_level=isolation_level)
    records.to_table()
    return records.damage_count > 0


def _damage(path: Path, draw: random.Random) -> None:
    size = min(path.stat().st_size, 1 << 16)  # of an index's 10 MB, the first 64 KiB are enough
    if draw.random() < 0.1:
        path.unlink()
        return
    content = path.read_bytes()[:size]
    if content:
        path.write_bytes(draw.choice(DAMAGES)(content, draw))
    os.utime(path, (1_000_000_000, 1_000_000_000))
