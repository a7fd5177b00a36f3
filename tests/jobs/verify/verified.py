"""Findings of a directory, for tests."""

from __future__ import annotations

import os
from pathlib import Path

from octavo.jobs.verify.finding import Finding, FindingKind, Severity
from octavo.jobs.verify.job import Verification
from octavo.jobs.verify.plan import plan
from octavo.system.runner import ThreadRunner

LONG_AGO = 1_000_000_000


def findings_of(*places: Path) -> list[Finding]:
    """All findings. Files are made old first, because verification waits for files that may still be changing."""
    for place in places:
        for path in (place, *place.rglob("*")):
            if not path.is_dir() and path.stat().st_mtime > LONG_AGO:
                os.utime(path, (LONG_AGO, LONG_AGO))
    return list(Verification(plan(places), ThreadRunner(2)).findings())


def shown(findings: list[Finding]) -> list[tuple[str, int | None, FindingKind, Severity]]:
    """File name, position, kind and severity of each."""
    return [(Path(found.path).name, found.position, found.problem, found.severity) for found in findings]


def flipped(path: Path, position: int, mask: int = 1) -> None:
    """Flip the bits of a mask in one byte of a file."""
    with path.open("r+b") as file:
        file.seek(position)
        byte = file.read(1)[0] ^ mask
        file.seek(position)
        file.write(bytes([byte]))
