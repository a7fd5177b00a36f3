"""Which commands to run next, given the findings: they show a problem, and what can be kept or repaired."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence

from octavo.format.names import CLUSTER_METADATA_TOPIC, FileKind
from octavo.jobs.verify.finding import Finding, FindingKind, Severity
from octavo.jobs.verify.plan import DirectoryPlan
from octavo.scanner.places.location import LOCAL

_INDEXES = (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX)
# Recovery cuts a damaged log, and rebuilds the others.
_RECOVERED = (FileKind.LOG, FileKind.TXN_INDEX, FileKind.PRODUCER_SNAPSHOT)
_CRASH_TRACES = {FindingKind.INCOMPLETE_BATCH, FindingKind.ZEROS, FindingKind.ZERO_ENTRIES, FindingKind.MISSING_ENTRY}
_METADATA = f"/{CLUSTER_METADATA_TOPIC}-0/"  # a node recovers this log itself, at each start
# Neither another look at the bytes nor a repair of the log helps here.
_OUT_OF_REACH = {FindingKind.UNREADABLE_FILE, FindingKind.NAME, FindingKind.DIRECTORY_ID, FindingKind.TOPIC_ID}


class NextSteps:
    """Collects findings; gives advice on each directory with problems that a command helps with, or else on the first
    directory with traces of a crash."""

    def __init__(self, plans: Sequence[DirectoryPlan]) -> None:
        self._plans = plans
        # The first problem in each kind of file, by the number of the directory's plan.
        self._problems: defaultdict[int | None, dict[str, Finding]] = defaultdict(dict)
        self._trace: Finding | None = None

    def add(self, finding: Finding) -> None:
        if finding.severity is Severity.INFO:
            if self._trace is None and finding.problem in _CRASH_TRACES and _METADATA not in finding.path:
                self._trace = finding
        elif finding.problem not in _OUT_OF_REACH:
            self._problems[self._place_of(finding)].setdefault(finding.path.rpartition(".")[2], finding)

    def lines(self) -> Iterator[str]:
        """The commands; a shell ignores the comments after them."""
        steps = list(self._after_problems() if self._problems else self._after_crash())
        if steps:
            yield "next:"
        for step in steps:
            yield f"  {step}"

    def _after_problems(self) -> Iterator[str]:
        for place, problems in self._problems.items():
            placed = next((found for found in problems.values() if found.position is not None), None)
            if placed is not None:
                yield f"octavo explain --position {placed.position} {shlex.quote(placed.path)}"
            if place is not None:
                yield from _repairs(self._plans[place], {f".{kind}" for kind in problems})

    def _after_crash(self) -> Iterator[str]:
        place = None if self._trace is None else self._place_of(self._trace)
        plan = None if place is None else self._plans[place]
        if plan is not None and plan.root is not None and plan.location.file_system == LOCAL:
            yield f"octavo recover --dry-run {shlex.quote(str(plan.location))}  # unless a broker runs on it"

    def _place_of(self, finding: Finding) -> int | None:
        for place, plan in enumerate(self._plans):
            location = str(plan.location)
            if finding.path == location or finding.path.startswith(f"{location.rstrip('/')}/"):
                return place
        return None


def _repairs(plan: DirectoryPlan, kinds: set[str]) -> Iterator[str]:
    place = shlex.quote(str(plan.location))
    if FileKind.LOG in kinds:
        yield f"octavo copy {place} NEW  # keeps every sound batch"
    if plan.location.file_system != LOCAL:
        return
    if kinds.intersection(_INDEXES):
        yield f"octavo reindex --dry-run {place}  # which indexes can be rebuilt"
    if plan.root is not None and kinds.intersection(_RECOVERED):
        yield f"octavo recover --all --dry-run {place}  # what recovery would cut"
