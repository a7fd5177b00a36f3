"""What a check found: the kinds of problems, and a collector that stays small however much is broken."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile

from octavo.errors import CorruptionError

# Of one file so many findings are told one by one; the rest is counted.
MOST_FINDINGS = 1000


class Severity(StrEnum):
    """`info` is what a crash, a running broker or a deletion leaves in the ordinary course of things."""

    PROBLEM = "problem"
    INFO = "info"


class Problem(StrEnum):
    """The kinds of findings, by the name that a line has."""

    CRC_MISMATCH = "crc-mismatch"
    INVALID_BATCH = "invalid-batch"
    INVALID_RECORDS = "invalid-records"
    OFFSET_ORDER = "offset-order"
    LEADER_EPOCH = "leader-epoch"
    INCOMPLETE_BATCH = "incomplete-batch"
    ZEROS = "zeros"
    NO_BATCH = "no-batch"
    SEGMENT_SIZE = "segment-size"
    PARTIAL_ENTRY = "partial-entry"
    ZERO_ENTRIES = "zero-entries"
    ENTRY_ORDER = "entry-order"
    WRONG_ENTRY = "wrong-entry"
    MISSING_ENTRY = "missing-entry"
    MISSING_FILE = "missing-file"
    DAMAGED_FILE = "damaged-file"
    UNREADABLE_FILE = "unreadable-file"
    WRONG_STATE = "wrong-state"
    BEYOND_END = "beyond-end"
    TOPIC_ID = "topic-id"
    DIRECTORY_ID = "directory-id"
    NAME = "name"
    ON_ITS_WAY_OUT = "on-its-way-out"
    MORE = "more"


MEANINGS: dict[Problem, str] = {
    Problem.CRC_MISMATCH: "A batch or message whose bytes do not give the stored CRC.",
    Problem.INVALID_BATCH: "A batch that breaks the format: its magic, its length, its count or its offsets.",
    Problem.INVALID_RECORDS: "Records that cannot be unpacked or decoded, or do not lie within their batch.",
    Problem.OFFSET_ORDER: "Offsets that do not increase, or lie outside the range of their segment.",
    Problem.LEADER_EPOCH: "A batch of another leader epoch than leader-epoch-checkpoint has for its offset.",
    Problem.INCOMPLETE_BATCH: "A batch of which the end of the file cuts off a part.",
    Problem.ZEROS: "Zeros behind the last batch.",
    Problem.NO_BATCH: "Bytes that are no batch.",
    Problem.SEGMENT_SIZE: "A log file that is larger than positions in it can be.",
    Problem.PARTIAL_ENTRY: "A file of entries whose length is no multiple of an entry's.",
    Problem.ZERO_ENTRIES: "Unused entries, all zeros, at the end of an index.",
    Problem.ENTRY_ORDER: "Entries that do not ascend.",
    Problem.WRONG_ENTRY: "An entry that says something else than the log.",
    Problem.MISSING_ENTRY: "Something in the log that must have an entry, and has none.",
    Problem.MISSING_FILE: "A file without the one that it belongs to.",
    Problem.DAMAGED_FILE: "A small file that does not have the form of its kind.",
    Problem.UNREADABLE_FILE: "A file or folder that the operating system does not let be read.",
    Problem.WRONG_STATE: "A producer snapshot that does not follow from the log.",
    Problem.BEYOND_END: "A checkpoint, an epoch or a snapshot of an offset that the log does not reach.",
    Problem.TOPIC_ID: "Partitions of one topic with different topic ids.",
    Problem.DIRECTORY_ID: "Log directories that are not those of one cluster, or a node's that hold the same twice.",
    Problem.NAME: "A file or folder with a name that Kafka does not take.",
    Problem.ON_ITS_WAY_OUT: "A file or folder that is about to be deleted, or is no partition's any more.",
    Problem.MORE: "Further findings in the same file, which are not told one by one.",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: where, what, and the sentence that says what was found and what was expected."""

    path: str
    position: int | None
    problem: Problem
    detail: str
    severity: Severity = Severity.PROBLEM


class Findings:
    """The findings of one task. Iterating gives them in the order in which they were made, file by file."""

    def __init__(self) -> None:
        self._by_path: dict[str, dict[Finding, None]] = {}  # of what several checks find the same is told once
        self._left_out: dict[str, int] = {}

    def add(
        self,
        path: object,
        position: int | None,
        problem: Problem,
        detail: str,
        severity: Severity = Severity.PROBLEM,
    ) -> None:
        name = str(path)
        found = self._by_path.setdefault(name, {})
        if len(found) < MOST_FINDINGS:
            found[Finding(name, position, problem, detail, severity)] = None
        else:
            self._left_out[name] = self._left_out.get(name, 0) + 1

    def add_error(
        self,
        path: object,
        error: CorruptionError,
        problem: Problem = Problem.DAMAGED_FILE,
        severity: Severity = Severity.PROBLEM,
    ) -> None:
        """A decoder's error."""
        self.add(path, error.position, problem, error.problem, severity)

    def check_form(self, path: object, content: bytes, written: bytes) -> None:
        """A text file that can be read, but has another form than the one in which Kafka writes the same."""
        if content != written:
            same = takewhile(lambda pair: pair[0] == pair[1], zip(content, written, strict=False))
            common = sum(1 for _ in same)
            self.add(path, common, Problem.DAMAGED_FILE, f"not as Kafka writes it, which is {written[:60]!r}")

    def add_failure(self, path: object, error: OSError) -> None:
        """What the operating system said instead of giving a file."""
        self.add(path, None, Problem.UNREADABLE_FILE, error.strerror or str(error))

    def extend(self, findings: Iterable[Finding]) -> None:
        for found in findings:
            self.add(found.path, found.position, found.problem, found.detail, found.severity)

    def has_problem(self) -> bool:
        return any(found.severity is Severity.PROBLEM for found in self.all())

    def all(self) -> list[Finding]:
        told: list[Finding] = []
        for path, found in self._by_path.items():
            told += list(found)
            if path in self._left_out:
                detail = f"{self._left_out[path]} more findings in this file"
                told.append(Finding(path, None, Problem.MORE, detail))
        return told
