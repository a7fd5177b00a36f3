"""Checks of small files that count only once the files stay as they are."""

from __future__ import annotations

from collections.abc import Callable

from octavo.jobs.verify.finding import Findings
from octavo.scanner.partition.tail import LOOKS, WriterPatience
from octavo.scanner.places.location import Location


def settled(
    patience: WriterPatience, location: Location, check: Callable[[bytes, Findings], None], findings: Findings
) -> None:
    """Check a small file; what is found counts only if the file stays as it is. A file that goes away is no finding."""
    previous: bytes | None = None
    for _ in range(LOOKS):
        found = Findings()
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
