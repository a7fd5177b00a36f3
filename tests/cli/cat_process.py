"""`octavo cat` in a process of its own, since it bypasses Python's stdout."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from tests.cli.runs import json_lines


def cat(*arguments: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "octavo", "cat", *map(str, arguments)], capture_output=True, check=False
    )


def rows(*arguments: object) -> list[dict[str, Any]]:
    done = cat(*arguments)
    assert (done.returncode, done.stderr) == (0, b"")
    return json_lines(done.stdout.decode())
