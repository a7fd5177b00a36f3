"""Checks a partition's folder: its name, the names of its files, and its small files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from octavo.errors import EncodingError
from octavo.format import kafka_uuid
from octavo.format.names import (
    CLUSTER_METADATA_TOPIC,
    LEADER_EPOCH_CHECKPOINT,
    PARTITION_METADATA,
    QUORUM_STATE,
    FileKind,
    FolderState,
    KRaftSnapshot,
    SegmentFile,
    Transient,
    topic_problem,
)
from octavo.format.small_files import leader_epochs, partition_metadata, quorum_state
from octavo.format.small_files.leader_epochs import EpochEntry
from octavo.jobs.verify import epochs, producers
from octavo.jobs.verify.finding import Finding, FindingCollector, FindingKind, Severity
from octavo.jobs.verify.kraft_snapshot import check_kraft_snapshot
from octavo.jobs.verify.small_file import check_small_file
from octavo.scanner.partition.tail import WriterPatience
from octavo.scanner.places.files import PartitionFiles, from_entries, snapshot_path

_SUFFIXES = tuple(f"{kind}{transient}" for kind in FileKind for transient in Transient)
_WHY_NOT_CURRENT = {
    FolderState.DELETE: "the folder is marked for deletion",
    FolderState.STRAY: "the folder is unknown to its cluster",
}
_METADATA_TOPIC_ID = kafka_uuid.to_text(kafka_uuid.METADATA_TOPIC_ID)


@dataclass(frozen=True, slots=True)
class FolderResult:
    """What was found in a folder apart from its segments, and what other checks need to know."""

    findings: list[Finding]
    topic_id: str | None = None
    last_epoch: EpochEntry | None = None
    snapshots: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FolderTask:
    """Verify the names and small files of a partition's folder. Picklable."""

    files: PartitionFiles
    patience: WriterPatience
    is_read: bool = True  # False: only report that the folder is to be deleted
    unflushed_from: int | None = None  # a crash may have lost data from this offset on; None: no crash, or unknown

    @property
    def size(self) -> int:
        return sum(stat.size for stat in self.files.snapshots.values())

    def run(self) -> FolderResult:
        check = _FolderCheck(self.files, self.patience, self.unflushed_from)
        why = _WHY_NOT_CURRENT.get(self.files.folder.state)
        if why is not None:
            check.findings.add(self.files.location, None, FindingKind.ON_ITS_WAY_OUT, why, Severity.INFO)
        if self.is_read:
            check.run()
        return FolderResult(check.findings.all(), check.topic_id, check.last_epoch, tuple(self.files.snapshots))


class _FolderCheck:
    """The checks of one folder, and what they learn."""

    def __init__(self, files: PartitionFiles, patience: WriterPatience, unflushed_from: int | None) -> None:
        self.findings = FindingCollector()
        self.topic_id: str | None = None
        self.last_epoch: EpochEntry | None = None
        self._files = files
        self._patience = patience
        self._unflushed_from = unflushed_from
        self._alone: list[str] = []  # segment files without their log

    def run(self) -> None:
        if self._files.folder.state is FolderState.CURRENT:
            self._check_folder_name()
        for name in sorted(self._files.others):
            self._check_name(name)
        self._check_alone()
        self._check_small(PARTITION_METADATA, self._check_metadata)
        self._check_small(LEADER_EPOCH_CHECKPOINT, self._check_epochs)
        if self._files.folder.topic == CLUSTER_METADATA_TOPIC:
            self._check_small(QUORUM_STATE, lambda content, _: quorum_state.decode(content))
        for offset in self._files.snapshots:
            path = snapshot_path(self._files.location, offset)
            check = partial(producers.check_entries, path, offset, offset == self._being_written())
            check_small_file(self._patience, path, check, self.findings)

    def _being_written(self) -> int | None:
        """The offset of the snapshot that a crash may have left torn; None if there is none."""
        newest = max(self._files.snapshots)
        is_unflushed = self._unflushed_from is not None and newest >= self._unflushed_from
        return newest if is_unflushed else None

    def _check_folder_name(self) -> None:
        folder = self._files.folder
        problem = topic_problem(folder.topic)
        try:
            expected = folder.name
        except EncodingError as error:
            expected, problem = self._files.location.name, problem or str(error)
        if problem is None and expected != self._files.location.name:
            problem = f"expected {expected!r}"
        if problem is not None:
            self.findings.add(self._files.location, None, FindingKind.NAME, f"the folder's name: {problem}")

    def _check_name(self, name: str) -> None:
        path, file, snapshot = self._files.location.child(name), SegmentFile.parse(name), KRaftSnapshot.parse(name)
        is_to_be_deleted = file is not None and file.transient is Transient.DELETED
        if is_to_be_deleted or (snapshot is not None and snapshot.deleted):
            self.findings.add(path, None, FindingKind.ON_ITS_WAY_OUT, "the file is marked for deletion", Severity.INFO)
        elif file is not None and not file.transient:
            self._alone.append(name)
        elif snapshot is not None and not snapshot.partial:
            check_kraft_snapshot(path, self.findings)
        elif file is None and name.endswith(_SUFFIXES):
            detail = "expected 20 digits, the base offset, before the suffix: Kafka may refuse to load the folder"
            self.findings.add(path, None, FindingKind.NAME, detail)

    def _check_alone(self) -> None:
        """Look again for missing logs: a deletion renames a segment's files one by one, the log first."""
        if not self._alone:
            return
        entries = self._files.location.list()
        folders = {entry.name for entry in entries if entry.is_folder}
        listed = from_entries(self._files.root, self._files.location, self._files.folder, entries)
        for name in self._alone:
            path = self._files.location.child(name)
            if name in folders:
                self.findings.add(path, None, FindingKind.NAME, "a folder, expected a segment's file of that name")
            elif name in listed.others:
                base_offset = int(name.partition(".")[0])
                is_to_be_deleted = SegmentFile(base_offset, FileKind.LOG, Transient.DELETED).name in listed.others
                detail = f"the log file of its segment {'is marked for deletion' if is_to_be_deleted else 'is missing'}"
                severity = Severity.INFO if is_to_be_deleted else Severity.PROBLEM
                self.findings.add(path, None, FindingKind.MISSING_FILE, detail, severity)

    def _check_small(self, name: str, check: Callable[[bytes, FindingCollector], object]) -> None:
        if name in self._files.others:
            check_small_file(self._patience, self._files.location.child(name), check, self.findings)

    def _check_metadata(self, content: bytes, findings: FindingCollector) -> None:
        path = self._files.location.child(PARTITION_METADATA)
        metadata = partition_metadata.decode(content)
        if metadata.version == partition_metadata.VERSION:  # a later version may have more lines
            findings.check_form(path, content, partition_metadata.encode(metadata))
        self.topic_id = kafka_uuid.to_text(metadata.topic_id)
        if self._files.folder.topic == CLUSTER_METADATA_TOPIC and self.topic_id != _METADATA_TOPIC_ID:
            detail = f"topic id {self.topic_id}, expected {_METADATA_TOPIC_ID} of {CLUSTER_METADATA_TOPIC}"
            findings.add(path, None, FindingKind.TOPIC_ID, detail)

    def _check_epochs(self, content: bytes, findings: FindingCollector) -> None:
        path = self._files.location.child(LEADER_EPOCH_CHECKPOINT)
        entries = leader_epochs.decode(content)
        self.last_epoch = entries[-1] if entries else None
        if content:  # an empty file was never written to
            findings.check_form(path, content, leader_epochs.encode(entries))
        epochs.check_entries(path, entries, findings)
