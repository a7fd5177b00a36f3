"""What checks find: the kinds of findings, and a collector that stays small however much is broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from typing import Self

from octavo.errors import CorruptionError
from octavo.system.shown import count

# How many findings in one file are reported one by one; the rest are only counted.
MOST_FINDINGS = 1000


class Severity(StrEnum):
    """`info` is what a crash, a running broker, a deletion or another intended change leaves; the rest is a `problem`.

    docs/commands/verify.md lists the cases.
    """

    PROBLEM = "problem"
    INFO = "info"


class FindingKind(StrEnum):
    """The kinds of findings, named as in the output, each with its meaning."""

    meaning: str

    def __new__(cls, name: str, meaning: str) -> Self:
        kind = str.__new__(cls, name)
        kind._value_, kind.meaning = name, meaning
        return kind

    CRC_MISMATCH = "crc-mismatch", "A batch or message whose bytes do not match the stored CRC."
    INVALID_BATCH = "invalid-batch", "A batch that breaks the format: its magic, its length, its count or its offsets."
    INVALID_RECORDS = "invalid-records", "Records that cannot be unpacked or decoded, or do not lie within their batch."
    OFFSET_ORDER = (
        "offset-order",
        "Offsets that do not increase, lie outside their segment, or leave a gap in a metadata snapshot.",
    )
    LEADER_EPOCH = (
        "leader-epoch",
        "Leader epochs of batches that contradict leader-epoch-checkpoint or their metadata snapshot.",
    )
    INCOMPLETE_BATCH = (
        "incomplete-batch",
        "A batch that the end of the file cuts off, or a metadata snapshot without its footer.",
    )
    ZEROS = "zeros", "Zeros after the last batch."
    NO_BATCH = "no-batch", "Bytes that are not a batch."
    SEGMENT_SIZE = "segment-size", "A log file that is larger than any position that an index can hold."
    PARTIAL_ENTRY = "partial-entry", "A file of entries whose length is not a multiple of an entry's."
    ZERO_ENTRIES = "zero-entries", "Unused entries, all zeros, at the end of an index."
    ENTRY_ORDER = "entry-order", "Entries that do not ascend, or that follow unused ones."
    WRONG_ENTRY = "wrong-entry", "An entry that contradicts the log, or cannot be right for any log."
    MISSING_ENTRY = "missing-entry", "Something in the log that must have an entry but has none."
    MISSING_FILE = "missing-file", "A segment without one of its indexes, or an index without its log."
    DAMAGED_FILE = "damaged-file", "A small file that is not in the format of its kind."
    UNREADABLE_FILE = "unreadable-file", "A file or folder that the operating system cannot read."
    WRONG_STATE = "wrong-state", "A producer snapshot that does not follow from the log, or contradicts itself."
    BEYOND_END = "beyond-end", "A checkpoint, an epoch or a snapshot for an offset that the log does not reach."
    TOPIC_ID = "topic-id", "Partitions of one topic with different topic ids, or __cluster_metadata without its own."
    DIRECTORY_ID = (
        "directory-id",
        "Log directories of different clusters, with the same or a reserved id,"
        " or of one node with the same partition.",
    )
    NAME = "name", "A file or folder with a name that Kafka does not accept."
    ON_ITS_WAY_OUT = (
        "on-its-way-out",
        "A file or folder that is about to be deleted, or no longer belongs to a partition.",
    )
    MISSING_OFFSETS = (
        "missing-offsets",
        "Offsets between two segments that no file holds, in a topic that is not compacted.",
    )
    MORE = "more", "Further findings in the same file, which are only counted."


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

    def add_error(self, path: object, error: CorruptionError, severity: Severity = Severity.PROBLEM) -> None:
        """Add the error of a small file's decoder."""
        self.add(path, error.position, FindingKind.DAMAGED_FILE, error.problem, severity)

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
