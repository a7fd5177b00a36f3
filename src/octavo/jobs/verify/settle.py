"""Checks small files, and keeps the findings only if the files stay unchanged."""

from __future__ import annotations

from collections.abc import Callable

from octavo.jobs.verify.finding import FindingCollector
from octavo.scanner.partition.tail import LOOKS, WriterPatience
from octavo.scanner.places.location import Location


def settled(
    patience: WriterPatience,
    location: Location,
    check: Callable[[bytes, FindingCollector], None],
    findings: FindingCollector,
) -> None:
    """Check a small file; findings are kept only if it stays unchanged. A deleted file is not a finding."""
    previous: bytes | None = None
    for _ in range(LOOKS):
        found = FindingCollector()
        try:
            content, entry = location.read(), location.entry()
        except FileNotFoundError:
            return
        except OSError as error:
            findings.add_failure(location, error)
            return
        check(content, found)
        if not found.has_problem() or (content == previous) or not patience.is_recent(entry):
            break
        previous = content
        patience.pause()
    findings.extend(found.all())
