"""Shows findings to people: the problems, the notes or their number, a summary, and what to run next."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from octavo.cli.options import coloured, many
from octavo.cli.plain import plain
from octavo.cli.progress import print_line
from octavo.cli.units import with_units
from octavo.cli.verify.next_steps import NextSteps
from octavo.jobs.verify.finding import Finding, FindingKind, Severity
from octavo.jobs.verify.job import VerifySummary
from octavo.jobs.verify.plan import DirectoryPlan

_MOST_ON_SCREEN = 12  # problems; a terminal of 24 lines also has room for the rest of the report
_INDENT = " " * 4
_LABELS = {Severity.PROBLEM: "problem", Severity.INFO: "note"}
_COLOURS = {Severity.PROBLEM: "red", Severity.INFO: "yellow"}
# What one note of a kind is called, and several; notes are the findings of severity info.
_NOTES = {
    FindingKind.INCOMPLETE_BATCH: ("incomplete last batch", "incomplete last batches"),
    FindingKind.ZEROS: ("log with zeros at its end", "logs with zeros at their end"),
    FindingKind.ZERO_ENTRIES: ("index with unused entries at its end", "indexes with unused entries at their end"),
    FindingKind.MISSING_ENTRY: ("index without its last entry", "indexes without their last entry"),
    FindingKind.MISSING_FILE: ("missing index or log", "missing indexes or logs"),
    FindingKind.DAMAGED_FILE: ("torn producer snapshot", "torn producer snapshots"),
    FindingKind.LEADER_EPOCH: (
        "log that starts before its first leader epoch",
        "logs that start before their first leader epoch",
    ),
    FindingKind.TOPIC_ID: ("topic id of a deleted topic", "topic ids of deleted topics"),
    FindingKind.MISSING_OFFSETS: ("gap between segments", "gaps between segments"),
    FindingKind.ON_ITS_WAY_OUT: ("file or folder on its way out", "files and folders on their way out"),
}


class FindingPrinter:
    """Prints problems as they come; keeps notes, and prints or counts them at the end."""

    def __init__(self, plans: Sequence[DirectoryPlan], *, show_all: bool) -> None:
        self._show_all = show_all
        self._on_terminal = sys.stdout.isatty()
        self._place = f"{plans[0].location}/" if len(plans) == 1 and plans[0].root is not None else ""
        self._notes: list[Finding] = []
        self._folded: Counter[FindingKind] = Counter()
        self._shown = 0
        self._next = NextSteps(plans)

    def add(self, finding: Finding) -> None:
        """Add a finding; a terminal shows only the first problems, unless all are to be shown."""
        self._next.add(finding)
        if finding.severity is Severity.INFO:
            self._notes.append(finding)
        elif self._on_terminal and not self._show_all and self._shown == _MOST_ON_SCREEN:
            self._folded[finding.problem] += 1
        else:
            self._shown += 1
            self._print(finding)

    def finish(self, summary: VerifySummary) -> None:
        """Print what is left after the last problem."""
        if self._folded:
            kinds = ", ".join(f"{count} {kind}" for kind, count in self._folded.most_common())
            _print_fitted(f"{many(self._folded.total(), 'more problem')}: {kinds}; --all shows all problems")
        if self._show_all:
            for note in self._notes:
                self._print(note)
        elif self._notes:
            counts = Counter(note.problem for note in self._notes).most_common()
            kinds = ", ".join(many(count, *_NOTES.get(kind, (kind, kind))) for kind, count in counts)
            it = "it" if len(self._notes) == 1 else "them"
            _print_fitted(f"{many(len(self._notes), 'note')}: {kinds}; --all shows {it}")
        _print_fitted(_sentence(summary))
        for line in self._next.lines():
            print_line(plain(line), sys.stdout)

    def _print(self, finding: Finding) -> None:
        path = finding.path.removeprefix(self._place) if self._on_terminal else finding.path
        place = path if finding.position is None else f"{path}, position {finding.position}"
        label = _LABELS[finding.severity]
        first, *more = _lines(f"{label}: {place}:", f"{finding.problem}: {finding.detail}")
        for line in (coloured(label, _COLOURS[finding.severity]) + first.removeprefix(label), *more):
            print_line(line, sys.stdout)


def _lines(place: str, text: str) -> Iterator[str]:
    """One line; on a terminal that is too narrow, the place, followed by the text in lines that fit."""
    line, width = plain(f"{place} {text}"), shutil.get_terminal_size().columns
    if not sys.stdout.isatty() or len(line) <= width:
        yield line
        return
    yield plain(place)
    yield from textwrap.wrap(plain(text), width, initial_indent=_INDENT, subsequent_indent=_INDENT)


def _print_fitted(sentence: str) -> None:
    width = shutil.get_terminal_size().columns
    is_one = not sys.stdout.isatty() or len(sentence) <= width
    for line in [sentence] if is_one else textwrap.wrap(sentence, width, subsequent_indent=_INDENT):
        print_line(line, sys.stdout)


def _sentence(summary: VerifySummary) -> str:
    checked = f"{many(summary.segments, 'segment')} of {many(summary.partitions, 'partition')}"
    content = f"{many(summary.batches, 'batch', 'batches')}, {many(summary.records, 'record')}"
    found = f"{many(summary.problems, 'problem')}, {many(summary.infos, 'note')}"
    return with_units(f"{found} in {checked} ({content}, {many(summary.size, 'byte')})")
