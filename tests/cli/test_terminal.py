"""Commands in a real terminal: no line is broken by a progress bar, and colours appear only where somebody sees
them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.runs import octavo
from tests.cli.tmux import needs_tmux, screen
from tests.golden.archives import unpack
from tests.jobs.verify.verified import LONG_AGO, flipped
from tests.scanner.segments import write_segment
from tests.storage.batches import batch

pytestmark = needs_tmux

BAR = ("━", "╸", "-:--:--", "0:00:00")

# Each prints several lines while its bar is shown.
LINES = {
    "topics": ["topics", "logs", "--json"],
    "verify": ["verify", "damaged", "--all"],
    "verify --json": ["verify", "damaged", "--json"],
    "copy": ["copy", "damaged", "target", "--topic", "orders"],
    "compact": ["compact", "--dry-run", "logs", "--topic", "orders", "--config", "cleanup.policy=compact", "--force"],
    "reindex": ["reindex", "--dry-run", "logs"],
    "upgrade": ["upgrade", "--dry-run", "logs", "--compression-type", "gzip"],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for partition in range(4):
        write_segment(tmp_path / "logs" / f"orders-{partition}", 0, batch(0, 3), batch(3))
        write_segment(tmp_path / "logs" / f"orders-{partition}", 4, batch(4))
        log = write_segment(tmp_path / "damaged" / f"orders-{partition}", 0, batch(0, 3), batch(3))
        flipped(log, 70)
        os.utime(log, (LONG_AGO, LONG_AGO))
    return tmp_path


@pytest.mark.parametrize("columns", [80, 140])
@pytest.mark.parametrize("name", LINES)
def test_no_line_is_broken_by_a_bar(name: str, columns: int, folder: Path) -> None:
    run = octavo(*LINES[name], folder=folder)
    shutil.rmtree(folder / "target", ignore_errors=True)
    seen = screen(folder, columns, *LINES[name])
    assert not [line for line in seen if any(part in line for part in BAR)]
    said = (run.stdout + run.stderr).splitlines()
    assert len(said) > 2
    if name != "verify":  # verify wraps and shortens for a terminal
        on_screen = "".join(line.ljust(columns) for line in seen)
        for line in said:
            assert line in on_screen


@pytest.mark.parametrize("columns", [80, 140])
def test_results_in_a_file_are_not_on_the_screen(columns: int, folder: Path) -> None:
    seen = screen(folder, columns, *LINES["verify"], redirect="> found")
    assert "".join(seen).strip() == ""
    assert (folder / "found").read_text() == octavo(*LINES["verify"], folder=folder).stdout


@pytest.mark.parametrize("columns", [80, 140])
def test_a_torn_disk_fits_a_screen(columns: int, tmp_path: Path) -> None:
    shutil.copytree(unpack("v431-torn"), tmp_path / "disk")
    seen = screen(tmp_path, columns, "verify", "disk")
    assert len(seen) <= 24
    assert seen[0].startswith("problem: crash.compacted-0/")
    assert seen[-1] == "  octavo recover --all --dry-run disk  # what recovery would cut"


def test_colours_only_on_a_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    line = ("verify", "damaged")
    assert screen(folder, 80, *line, colours=True)[0].startswith("\x1b[31mproblem\x1b[39m: ")
    assert not [row for row in screen(folder, 80, *line, colours=True, redirect="| cat") if "\x1b" in row]
    monkeypatch.setenv("NO_COLOR", "1")
    assert not [row for row in screen(folder, 80, *line, colours=True) if "\x1b" in row]
