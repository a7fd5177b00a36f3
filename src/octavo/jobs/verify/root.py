"""Checks the root of a log directory: the names of folders, meta.properties and the checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from octavo.format import kafka_uuid
from octavo.format.java import properties as java_properties
from octavo.format.names import BOOTSTRAP_CHECKPOINT, META_PROPERTIES, OFFSET_CHECKPOINTS, topic_problem
from octavo.format.small_files import checkpoint, meta_properties
from octavo.format.small_files.meta_properties import MetaProperties
from octavo.jobs.verify.finding import Finding, FindingCollector, FindingKind
from octavo.jobs.verify.kraft_snapshot import check_kraft_snapshot
from octavo.jobs.verify.small_file import check_small_file
from octavo.scanner.partition.tail import WriterPatience
from octavo.scanner.places.location import Location

# The bytes that Java's Properties writes; it escapes all others.
_WRITTEN = frozenset(b"\t\n\r" + bytes(range(0x20, 0x7F)))


@dataclass(frozen=True, slots=True)
class RootResult:
    """What was found in the root, and the identity that meta.properties states."""

    findings: list[Finding]
    meta: MetaProperties | None = None


@dataclass(frozen=True, slots=True)
class RootTask:
    """Verify the files and names in the root of a log directory. Picklable."""

    location: Location
    names: tuple[str, ...]  # of the root's files
    unknown_folders: tuple[str, ...]
    patience: WriterPatience

    @property
    def size(self) -> int:
        return 0

    def run(self) -> RootResult:
        findings = FindingCollector()
        metas: list[MetaProperties] = []
        for name in self.unknown_folders:
            detail = "not the name of a partition: Kafka does not start on a log directory that holds such a folder"
            findings.add(self.location.child(name), None, FindingKind.NAME, detail)
        if META_PROPERTIES in self.names:
            path = self.location.child(META_PROPERTIES)
            check_small_file(self.patience, path, partial(_check_meta_properties, path, metas), findings)
        for name in OFFSET_CHECKPOINTS:
            if name in self.names:
                path = self.location.child(name)
                check_small_file(self.patience, path, partial(_check_offsets, path), findings)
        if BOOTSTRAP_CHECKPOINT in self.names:
            check_kraft_snapshot(self.location.child(BOOTSTRAP_CHECKPOINT), findings)
        return RootResult(findings.all(), metas[-1] if metas else None)


def _check_meta_properties(
    path: Location, metas: list[MetaProperties], content: bytes, findings: FindingCollector
) -> None:
    """Kafka never writes an empty file, although it reads one as version 0 without any property."""
    strange = next((position for position, byte in enumerate(content) if byte not in _WRITTEN), None)
    if strange is not None:
        detail = f"a byte {content[strange]:#04x}, expected text as Java's Properties writes it"
        findings.add(path, strange, FindingKind.DAMAGED_FILE, detail)
        return
    meta = meta_properties.decode(content)
    metas.append(meta)
    if meta == MetaProperties(meta_properties.BROKER_ID_VERSION) and "version" not in java_properties.decode(content):
        expected = "expected some of version, cluster.id, broker.id, node.id and directory.id"
        findings.add(path, None, FindingKind.DAMAGED_FILE, f"none of the properties of a log directory, {expected}")
    elif meta.directory_id is not None and kafka_uuid.is_reserved(meta.directory_id):
        detail = f"directory id {kafka_uuid.to_text(meta.directory_id)}, one of those that Kafka reserves"
        findings.add(path, None, FindingKind.DIRECTORY_ID, detail)


def _check_offsets(path: Location, content: bytes, findings: FindingCollector) -> None:
    offsets = checkpoint.decode_offsets(content)
    for topic_partition, offset in offsets.items():
        problem = topic_problem(topic_partition.topic)
        if problem is None and (topic_partition.partition < 0 or offset < 0):
            problem = "expected numbers of 0 or more"
        if problem is not None:
            detail = f"offset {offset} of {topic_partition}: {problem}"
            findings.add(path, None, FindingKind.WRONG_ENTRY, detail)
            return
    if content:  # an empty file was never written to
        findings.check_form(path, content, checkpoint.encode_offsets(offsets))
