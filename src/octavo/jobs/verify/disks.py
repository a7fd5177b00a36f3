"""Checks several log directories together, as the disks of a cluster's nodes: their ids and partitions must be
consistent."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from octavo.format import kafka_uuid
from octavo.format.names import META_PROPERTIES, PARTITION_METADATA, FolderState
from octavo.format.small_files.meta_properties import MetaProperties
from octavo.jobs.verify.finding import FindingCollector, FindingKind, Severity
from octavo.scanner.places.files import PartitionFiles
from octavo.scanner.places.location import Location


class _Claim(NamedTuple):
    """A file's claim about something that must be the same in all other files, or appear in no other."""

    subject: Hashable
    value: str
    path: Location


class Disks:
    """Collects facts from one directory after the other. Replicas of a partition on several nodes are normal."""

    def __init__(self) -> None:
        self._metas: list[tuple[Location, MetaProperties]] = []
        self._topic_ids: list[_Claim] = []  # by cluster
        self._node_topic_ids: list[_Claim] = []
        self._partitions: list[_Claim] = []

    def add(self, place: Location, meta: MetaProperties | None) -> None:
        """Add a log directory, and what its meta.properties says."""
        if meta is not None:
            self._metas.append((place, meta))

    def add_partition(self, files: PartitionFiles, topic_id: str | None, place: Location) -> None:
        """Add a partition's folder, after its directory and before the next. A stray, or a folder being deleted, may
        belong to an earlier topic of the same name and is left out."""
        if files.folder.state in (FolderState.DELETE, FolderState.STRAY):
            return
        meta = self._metas[-1][1] if self._metas and self._metas[-1][0] == place else None
        cluster = place if meta is None or meta.cluster_id is None else meta.cluster_id
        if topic_id is not None:
            path, topic = files.location.child(PARTITION_METADATA), files.folder.topic
            node_id = None if meta is None else meta.node_id
            self._topic_ids.append(_Claim((cluster, topic), topic_id, path))
            self._node_topic_ids.append(_Claim((cluster, node_id, topic), topic_id, path))
        if files.folder.state is FolderState.CURRENT and meta is not None and meta.node_id is not None:
            node = cluster, meta.node_id, files.topic_partition
            self._partitions.append(_Claim(node, str(files.location), files.location))

    def check(self, findings: FindingCollector) -> None:
        """Report what only all directories together can show."""
        self._check_directories(findings)
        self._check_topic_ids(findings)
        for claim, others in _minorities(self._partitions):
            detail = f"the same partition of the same node as {others}: Kafka does not start with both"
            findings.add(claim.path, None, FindingKind.DIRECTORY_ID, detail)

    def _check_topic_ids(self, findings: FindingCollector) -> None:
        """A node that is down while a topic is deleted and created again keeps the old topic until it is back."""
        wrong = _minorities(self._node_topic_ids)
        for claim, others in wrong:
            detail = f"topic id {claim.value}, expected that of the topic's other partitions, {others}"
            findings.add(claim.path, None, FindingKind.TOPIC_ID, detail)
        reported = {claim.path for claim, _ in wrong}
        for claim, others in _minorities(self._topic_ids):
            if claim.path not in reported:
                detail = f"topic id {claim.value}, on other nodes {others}: the topic has been created again"
                findings.add(claim.path, None, FindingKind.TOPIC_ID, detail, Severity.INFO)

    def _check_directories(self, findings: FindingCollector) -> None:
        files = [(place.child(META_PROPERTIES), meta) for place, meta in self._metas]
        clusters = [_Claim("", meta.cluster_id, path) for path, meta in files if meta.cluster_id is not None]
        for claim, others in _minorities(clusters):
            detail = f"cluster id {claim.value}, expected that of the other directories, {others}"
            findings.add(claim.path, None, FindingKind.DIRECTORY_ID, detail)
        ids = [_Claim(meta.directory_id, str(path), path) for path, meta in files if meta.directory_id is not None]
        for claim, others in _minorities(ids):
            shown = kafka_uuid.to_text(bytes(claim.subject)) if isinstance(claim.subject, bytes) else ""
            findings.add(claim.path, None, FindingKind.DIRECTORY_ID, f"directory id {shown}, the same as in {others}")


def _minorities(claims: Iterable[_Claim]) -> list[tuple[_Claim, str]]:
    """The claims that differ from others on the same subject, except those that more than half agree with."""
    by_subject: dict[Hashable, dict[str, list[_Claim]]] = {}
    for claim in claims:
        by_subject.setdefault(claim.subject, {}).setdefault(claim.value, []).append(claim)
    found = []
    for values in by_subject.values():
        total = sum(map(len, values.values()))
        for value, same in values.items():
            if len(values) > 1 and 2 * len(same) <= total:
                others = ", ".join(other for other in values if other != value)
                found += [(claim, others) for claim in same]
    return found
