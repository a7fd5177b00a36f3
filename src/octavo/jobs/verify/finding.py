"""What checks find: the kinds of findings, and a collector that stays small however much is broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile

from octavo.errors import CorruptionError
from octavo.system.shown import count

# How many findings in one file are reported one by one; the rest are only counted.
MOST_FINDINGS = 1000


class Severity(StrEnum):
    """`info` is what a crash, a running broker or a deletion normally leaves; anything else is a `problem`.

    docs/commands/verify.md lists all cases; `severities` has the rules.
    """

    PROBLEM = "problem"
    INFO = "info"


class FindingKind(StrEnum):
    """The kinds of findings, named as in the output."""

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
    MISSING_OFFSETS = "missing-offsets"
    MORE = "more"


MEANINGS: dict[FindingKind, str] = {
    FindingKind.CRC_MISMATCH: "A batch or message whose bytes do not match the stored CRC.",
    FindingKind.INVALID_BATCH: "A batch that breaks the format: its magic, its length, its count or its offsets.",
    FindingKind.INVALID_RECORDS: "Records that cannot be unpacked or decoded, or do not lie within their batch.",
    FindingKind.OFFSET_ORDER: "Offsets that do not increase, or lie outside the range of their segment.",
    FindingKind.LEADER_EPOCH: "A batch whose leader epoch differs from that of leader-epoch-checkpoint for its offset.",
    FindingKind.INCOMPLETE_BATCH: "A batch that the end of the file cuts off.",
    FindingKind.ZEROS: "Zeros after the last batch.",
    FindingKind.NO_BATCH: "Bytes that are not a batch.",
    FindingKind.SEGMENT_SIZE: "A log file that is larger than any position that an index can hold.",
    FindingKind.PARTIAL_ENTRY: "A file of entries whose length is not a multiple of an entry's.",
    FindingKind.ZERO_ENTRIES: "Unused entries, all zeros, at the end of an index.",
    FindingKind.ENTRY_ORDER: "Entries that do not ascend.",
    FindingKind.WRONG_ENTRY: "An entry that contradicts the log.",
    FindingKind.MISSING_ENTRY: "Something in the log that must have an entry but has none.",
    FindingKind.MISSING_FILE: "A segment without one of its indexes, or an index without its log.",
    FindingKind.DAMAGED_FILE: "A small file that is not in the format of its kind.",
    FindingKind.UNREADABLE_FILE: "A file or folder that the operating system cannot read.",
    FindingKind.WRONG_STATE: "A producer snapshot that does not follow from the log.",
    FindingKind.BEYOND_END: "A checkpoint, an epoch or a snapshot for an offset that the log does not reach.",
    FindingKind.TOPIC_ID: "Partitions of one topic with different topic ids.",
    FindingKind.DIRECTORY_ID: (
        "Log directories of different clusters, with the same or a reserved id, or of one node with the same partition."
    ),
    FindingKind.NAME: "A file or folder with a name that Kafka does not accept.",
    FindingKind.ON_ITS_WAY_OUT: "A file or folder that is about to be deleted, or no longer belongs to a partition.",
    FindingKind.MISSING_OFFSETS: "Offsets between two segments that no file holds, in a topic that is not compacted.",
    FindingKind.MORE: "Further findings in the same file, which are only counted.",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A line of `octavo verify`: where, what kind, and a sentence with what was found and what was expected."""

    path: str
    position: int | None
    problem: FindingKind
    detail: str
    severity: Severity = Severity.PROBLEM


class FindingCollector:
    """The findings of one task, file by file, in the order in which they were made."""

    def __init__(self) -> None:
        self._by_path: dict[str, dict[Finding, None]] = {}  # what several checks find is reported once
        self._left_out: Counter[tuple[str, Severity]] = Counter()

    def add(
        self,
        path: object,
        position: int | None,
        problem: FindingKind,
        detail: str,
        severity: Severity = Severity.PROBLEM,
    ) -> None:
        name = str(path)
        found = self._by_path.setdefault(name, {})
        if len(found) < MOST_FINDINGS:
            found[Finding(name, position, problem, detail, severity)] = None
        else:
            self._left_out[name, severity] += 1

    def add_error(
        self,
        path: object,
        error: CorruptionError,
        problem: FindingKind = FindingKind.DAMAGED_FILE,
        severity: Severity = Severity.PROBLEM,
    ) -> None:
        """Add the error of a decoder."""
        self.add(path, error.position, problem, error.problem, severity)

    def check_form(self, path: object, content: bytes, written: bytes) -> None:
        """Add a finding if a text file is readable, but not in the form in which Kafka writes it."""
        if content != written:
            same = takewhile(lambda pair: pair[0] == pair[1], zip(content, written, strict=False))
            common = sum(1 for _ in same)
            self.add(path, common, FindingKind.DAMAGED_FILE, f"not as Kafka writes it, expected {written[:60]!r}")

    def add_failure(self, path: object, error: OSError) -> None:
        """Add a file that the operating system could not read."""
        self.add(path, None, FindingKind.UNREADABLE_FILE, error.strerror or str(error))

    def extend(self, findings: Iterable[Finding]) -> None:
        for found in findings:
            self.add(found.path, found.position, found.problem, found.detail, found.severity)

    def has_problem(self) -> bool:
        return any(found.severity is Severity.PROBLEM for found in self.all())

    def all(self) -> list[Finding]:
        findings: list[Finding] = []
        for path, found in self._by_path.items():
            findings += list(found)
            for severity in Severity:
                if left_out := self._left_out[path, severity]:
                    detail = f"{count(left_out, 'more finding')} in this file"
                    findings.append(Finding(path, None, FindingKind.MORE, detail, severity))
        return findings
