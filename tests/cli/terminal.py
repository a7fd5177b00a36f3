"""Runs `octavo` on a terminal of a given width."""

from __future__ import annotations

import os
import pty
import subprocess
import sys


def octavo_on_terminal(columns: int, *arguments: str, **variables: str) -> str:
    """What appears on the terminal; `variables` are set in the command's environment."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "octavo", *arguments],
        stdout=theirs,
        env={**os.environ, "COLUMNS": str(columns), "LINES": "50", **variables},
    ):
        os.close(theirs)
        seen = b""
        try:
            while part := os.read(ours, 65536):
                seen += part
        except OSError:  # Linux reports the end this way
            pass
    os.close(ours)
    return seen.decode().replace("\r\n", "\n")
