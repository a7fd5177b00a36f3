"""Runs `octavo` in a real terminal emulator (tmux): shows what is on the screen, not which bytes were sent to it."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed: no terminal to run in")

# A bar from the first byte of progress, so that short work has one too; each line takes a moment, so that the bar
# is drawn.
_RUN = """
import sys, time
from octavo.cli import main, options, progress
progress._PATIENCE_SECONDS = -1
print_line = progress.print_line
def slowly(line, stream):
    time.sleep(0.15)
    print_line(line, stream)
options.print_line = slowly
sys.exit(main())
"""


def screen(folder: Path, columns: int, *arguments: str, colours: bool = False, redirect: str = "") -> list[str]:
    """The lines on the screen after a command with an eager progress bar; with `colours`, their escapes too.

    `redirect` is what a shell writes after the command.
    """
    name, done = f"octavo-{folder.name}-{columns}-{time.monotonic_ns()}", folder / "done"
    done.unlink(missing_ok=True)
    words = [sys.executable, "-c", _RUN, *arguments]
    line = f"cd {shlex.quote(str(folder))}; {shlex.join(words)} {redirect}; touch done; sleep 60"
    _tmux(name, "-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", "100", line)
    try:
        deadline = time.monotonic() + 60
        while not done.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert done.exists(), _tmux(name, "capture-pane", "-p")
        seen = _tmux(name, "capture-pane", "-p", *(["-e"] if colours else []))
    finally:
        _tmux(name, "kill-server")
    return seen.rstrip("\n").split("\n")


def _tmux(name: str, *arguments: str) -> str:
    return subprocess.run(["tmux", "-L", name, *arguments], check=True, capture_output=True, text=True).stdout
