"""Second looks: on the disk of a running broker a file may be half written, or replaced, when it is first looked at."""

from __future__ import annotations

from collections.abc import Callable

from octavo.jobs.verify.finding import Findings
from octavo.scan.location import Location
from octavo.scan.second_look import is_recent, pause

_LOOKS = 5


def settled(location: Location, check: Callable[[bytes, Findings], None], findings: Findings) -> None:
    """Check a small file; what is found counts only if the file stays as it is. A file that goes away is no finding."""
    previous: bytes | None = None
    for _ in range(_LOOKS):
        found = Findings()
        try:
            content, entry = location.read(), location.entry()
        except FileNotFoundError:
            return
        except OSError as error:
            findings.add_failure(location, error)
            return
        check(content, found)
        if not found.has_problem() or (content == previous) or not is_recent(entry):
            break
        previous = content
        pause()
    findings.extend(found.all())
