"""The golden archives for tests: log directories of real brokers, unpacked once per test run, and what was read from
them.

Nothing may write into an unpacked archive, since all tests of a run share it. Copy what a test wants to change.
"""

from __future__ import annotations

import atexit
import fcntl
import json
import lzma
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).resolve().parent.parent / "data" / "golden"
ROOT_VARIABLE = "OCTAVO_TEST_ARCHIVES"


def archives() -> list[str]:
    """The names of all archives, as in the manifest."""
    return [str(archive["name"]) for archive in manifest()["archives"]]


@cache
def manifest() -> dict[str, Any]:
    """MANIFEST.json: what each archive holds and how it was made."""
    content: dict[str, Any] = json.loads((GOLDEN / "MANIFEST.json").read_text())
    return content


def entry(name: str) -> dict[str, Any]:
    """The manifest's entry of one archive."""
    found: dict[str, Any] = next(archive for archive in manifest()["archives"] if archive["name"] == name)
    return found


@cache
def unpack(name: str) -> Path:
    """The folder with the archive's content, with its original modification times and holes."""
    root = shared_root()
    target = root / name
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            partial = root / f"{name}.partial"
            with tarfile.open(GOLDEN / entry(name)["archive"]) as tar:
                # Python before 3.11.4 (Debian 12's) has no filters, and accepts no argument for one.
                tar.extraction_filter = getattr(tarfile, "data_filter", None)
                tar.extractall(partial)
            partial.rename(target)
    return target


def files(name: str, pattern: str = "*") -> list[Path]:
    """The archive's files whose name matches the pattern, in order."""
    return sorted(path for path in unpack(name).rglob(pattern) if path.is_file())


def records(name: str) -> Iterator[dict[str, Any]]:
    """What a real client read from the archive, in offset order for each isolation level, topic and partition."""
    return _lines(name, "records")


def dumps(name: str) -> Iterator[dict[str, Any]]:
    """Runs of Kafka 4.3.1's dump-log in the archive's root: args, exit, stdout, stderr."""
    return _lines(name, "dumps")


def lookups(name: str) -> Iterator[dict[str, Any]]:
    """What the live broker answered to requests for offsets by timestamp."""
    return _lines(name, "lookups")


def lookups_from_logs(name: str) -> Iterator[dict[str, Any]]:
    """The lookups without those where a file's modification time decided: archives keep only whole seconds."""
    by_mtime = entry(name)["lookups"].get("needs_mtime_ms", [])
    for row in lookups(name):
        if [row["topic"], row["partition"], row["timestamp"]] not in by_mtime:
            yield row


def own_dumps(name: str) -> list[dict[str, Any]]:
    """Runs of the dump-log of the Kafka version that wrote the archive."""
    with lzma.open(GOLDEN / entry(name)["own_dumps"]["file"], "rt", encoding="utf-8") as text:
        content: list[dict[str, Any]] = json.load(text)
    return content


def _lines(name: str, kind: str) -> Iterator[dict[str, Any]]:
    listed = entry(name).get(kind)
    if listed is None:
        return
    with lzma.open(GOLDEN / listed["file"], "rt", encoding="utf-8") as text:
        for line in text:
            yield json.loads(line)


def shared_root() -> Path:
    """The folder of this test run; its path reaches worker processes through the environment, and its maker removes
    it."""
    known = os.environ.get(ROOT_VARIABLE)
    if known is None:
        known = tempfile.mkdtemp(prefix="octavo-archives-")
        os.environ[ROOT_VARIABLE] = known
        atexit.register(_remove, known, os.getpid())
    return Path(known)


def _remove(root: str, maker: int) -> None:
    if os.getpid() == maker:  # a forked child also runs the exit handlers of its parent
        shutil.rmtree(root, ignore_errors=True)
