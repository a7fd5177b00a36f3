"""The root of a log directory: the folders' names, meta.properties and the checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from octavo.errors import CorruptionError
from octavo.format import checkpoint, meta_properties
from octavo.format.names import BOOTSTRAP_CHECKPOINT, META_PROPERTIES, OFFSET_CHECKPOINTS, topic_problem
from octavo.jobs.verify.finding import Finding, Findings, Problem
from octavo.jobs.verify.kraft_snapshot import check_kraft_snapshot
from octavo.jobs.verify.settle import settled
from octavo.scan.location import Location


@dataclass(frozen=True, slots=True)
class RootTask:
    """Verify what is in the root of a log directory. Picklable."""

    location: Location
    names: tuple[str, ...]  # of its files
    unknown_folders: tuple[str, ...]

    @property
    def size(self) -> int:
        return 0

    def run(self) -> list[Finding]:
        findings = Findings()
        for name in self.unknown_folders:
            detail = "no partition's name: Kafka does not start on a log directory that holds such a folder"
            findings.add(self.location.child(name), None, Problem.NAME, detail)
        if META_PROPERTIES in self.names:
            settled(self.location.child(META_PROPERTIES), self._check_meta_properties, findings)
        for name in OFFSET_CHECKPOINTS:
            if name in self.names:
                settled(self.location.child(name), partial(self._check_offsets, name), findings)
        if BOOTSTRAP_CHECKPOINT in self.names:
            check_kraft_snapshot(self.location.child(BOOTSTRAP_CHECKPOINT), findings)
        return findings.all()

    def _check_meta_properties(self, content: bytes, findings: Findings) -> None:
        try:
            meta_properties.decode(content)
        except CorruptionError as error:
            findings.add_error(self.location.child(META_PROPERTIES), error)

    def _check_offsets(self, name: str, content: bytes, findings: Findings) -> None:
        path = self.location.child(name)
        try:
            offsets = checkpoint.decode_offsets(content)
        except CorruptionError as error:
            findings.add_error(path, error)
            return
        for topic_partition, offset in offsets.items():
            problem = topic_problem(topic_partition.topic)
            if problem is None and (topic_partition.partition < 0 or offset < 0):
                problem = "expected no negative number"
            if problem is not None:
                detail = f"offset {offset} of {topic_partition}: {problem}"
                findings.add(path, None, Problem.WRONG_ENTRY, detail)
                return
        if content:  # an empty file is one that was never written
            findings.check_form(path, content, checkpoint.encode_offsets(offsets))
