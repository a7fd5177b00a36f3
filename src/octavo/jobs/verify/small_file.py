"""Checks a small file, which a broker may be about to replace."""

from __future__ import annotations

from collections.abc import Callable

from octavo.errors import CorruptionError
from octavo.jobs.verify.finding import FindingCollector
from octavo.scanner.partition.tail import LOOKS, WriterPatience
from octavo.scanner.places.location import Location


def check_small_file(
    patience: WriterPatience,
    location: Location,
    check: Callable[[bytes, FindingCollector], object],
    findings: FindingCollector,
) -> None:
    """Add the findings of `check`, or the CorruptionError that it raises.

    As long as there are problems and the file may be changing, it is checked again, up to `LOOKS` times.
    A deleted file is not a finding.
    """
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
        try:
            check(content, found)
        except CorruptionError as error:
            found.add_error(location, error)
        if not found.has_problem() or (content == previous) or not patience.is_recent(entry):
            break
        previous = content
        patience.pause()
    findings.extend(found.all())
