"""What tests of writing commands share: a directory's state, and another process that holds its lock."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from octavo.scanner.api import scan
from octavo.scanner.reading.records import ConsumerRecord
from tests.cli.runs import Run, json_lines

HOLDER = """
import fcntl, os, sys
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.lockf(lock, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""

State = dict[str, tuple[int, bytes]]


def state(folder: Path) -> State:
    """Every file and folder below, with its modification time and content."""
    paths = sorted([folder, *folder.rglob("*")])
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"") for path in paths}


def rows(run: Run) -> list[dict[str, Any]]:
    """The lines of `--json` output from a successful run."""
    assert (run.exit, run.stderr) == (0, "")
    return json_lines(run.stdout)


def records(root: Path, *topics: str) -> list[ConsumerRecord]:
    """What a reader of committed records sees in topics (default: all)."""
    found = list(scan(root, topics or None, isolation_level="read_committed").records())
    assert found
    return found


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Another process holds the directory's lock within the block, like a broker."""
    line = [sys.executable, "-c", HOLDER, str(root / ".lock")]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield
        holder.communicate()
    (root / ".lock").unlink()
