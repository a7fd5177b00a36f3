"""Plans the verification of places as independent tasks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from octavo.errors import CorruptionError, ScanError
from octavo.format.batches.batch import decode_batch
from octavo.format.batches.walker import walk
from octavo.format.names import (
    BOOTSTRAP_CHECKPOINT,
    META_PROPERTIES,
    RECOVERY_POINT_CHECKPOINT,
    FolderState,
)
from octavo.jobs.verify.finding import FindingCollector, FindingKind
from octavo.jobs.verify.folder import FolderTask
from octavo.jobs.verify.root import RootTask
from octavo.jobs.verify.segment import SegmentTask
from octavo.jobs.verify.view import SegmentView
from octavo.kernels.layout import CONTROL
from octavo.scanner.log_dirs import Place, distinct
from octavo.scanner.partition.snapshot import effective_segments, relisted, retrying
from octavo.scanner.partition.tail import WriterPatience
from octavo.scanner.places.directory import Directory, Wanted, read_directory
from octavo.scanner.places.files import PartitionFiles
from octavo.scanner.places.location import Location
from octavo.scanner.places.wrong_place import check_log_dir

_METADATA_VERSION = "metadata.version"
_SINCE_4_1 = 26  # the metadata version that 4.1 began with

VerifyTask = RootTask | FolderTask | SegmentTask


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """The tasks of a partition; a single segment file has none for its folder."""

    files: PartitionFiles
    clean_shutdown: bool
    folder: FolderTask | None
    segments: list[SegmentTask]

    def tasks(self) -> list[VerifyTask]:
        return [*([self.folder] if self.folder is not None else []), *self.segments]


@dataclass(frozen=True, slots=True)
class DirectoryPlan:
    """The tasks of one place; `root` is None for a partition's folder or a segment file."""

    location: Location
    root: RootTask | None
    partitions: list[PartitionPlan]
    findings: FindingCollector = field(default_factory=FindingCollector)  # from listing the place
    is_empty: bool = False  # there is no partition, not even an unreadable one

    def tasks(self) -> list[VerifyTask]:
        root: list[VerifyTask] = [self.root] if self.root is not None else []
        return root + [task for partition in self.partitions for task in partition.tasks()]


def plan(
    places: Iterable[Place], wanted: Wanted | None = None, patience: WriterPatience | None = None
) -> list[DirectoryPlan]:
    """List each place once. If two places have the same partition, both copies are verified.

    With `wanted`, only the partitions that it accepts are verified, but the files in the root always are.
    """
    patience = patience or WriterPatience()
    directories = [read_directory(place, wanted) for place in distinct(places)]
    for directory in directories:
        check_log_dir(directory)
    return [_plan(directory, patience) for directory in directories]


def _plan(directory: Directory, patience: WriterPatience) -> DirectoryPlan:
    indexes_each_batch = _indexes_each_batch(directory.root.location)
    recovery_points = directory.root.offsets(RECOVERY_POINT_CHECKPOINT)
    # A partition that the checkpoint does not name was never flushed. Without the checkpoint and meta.properties, which
    # an owner creates first, these are folders without their root, and the recovery points are unknown.
    is_root = bool(recovery_points) or _is_there(directory.root.location.child(META_PROPERTIES))
    root = None
    findings = FindingCollector()
    if not directory.single:
        root = RootTask(directory.place, tuple(directory.files), tuple(directory.unknown), patience)
        for note in directory.notes:
            findings.add(note.path, None, FindingKind.UNREADABLE_FILE, note.sentence)
    partitions = []
    for files in (*directory.partitions.values(), *directory.not_current):
        try:
            recovery_point = recovery_points.get(files.topic_partition, 0 if is_root else None)
            partitions.append(_partition(directory, files, patience, recovery_point, indexes_each_batch))
        except ScanError:
            continue  # deleted since it was listed
    return DirectoryPlan(directory.place, root, partitions, findings, not partitions and not directory.topic_partitions)


def _partition(
    directory: Directory,
    files: PartitionFiles,
    patience: WriterPatience,
    recovery_point: int | None,
    indexes_each_batch: bool,
) -> PartitionPlan:
    """Plan a partition. One that is being deleted is read only if it was given as the place; its log was never closed,
    so the mark of a clean shutdown does not apply to it."""
    is_to_be_deleted = files.folder.state is FolderState.DELETE
    is_read = directory.single or not is_to_be_deleted
    clean = not is_to_be_deleted and directory.root.was_stopped_cleanly(files.topic_partition)
    folder = FolderTask(files, patience, is_read, None if clean else recovery_point) if files.whole else None
    if not is_read:
        return PartitionPlan(files, clean, folder, [])
    segments = retrying(files, effective_segments)
    listed = segments if files.whole else relisted(replace(files, whole=True)).segments
    bases = [segment.base_offset for segment in listed]
    tasks = []
    for segment in segments:
        slot = bisect_right(bases, segment.base_offset)
        following = bases[slot] if slot < len(bases) else None
        is_before_empty = slot == len(bases) - 1 and not segments[-1].log.size
        known = clean, indexes_each_batch, recovery_point, is_before_empty
        tasks.append(SegmentTask(SegmentView(files.location, segment, following, *known), patience))
    return PartitionPlan(files, clean, folder, tasks)


def _is_there(location: Location) -> bool:
    try:
        location.entry()
    except OSError:
        return False
    return True


def _indexes_each_batch(root: Location) -> bool:
    """Whether only brokers from 4.1 on, which index each batch separately, can have written here.

    That is so if the cluster began with a metadata version that no earlier broker understands. 3.9.1 and 4.0.1 index
    each batch too, but nothing in the directory distinguishes them from their predecessors.
    """
    try:
        content = root.child(BOOTSTRAP_CHECKPOINT).read()
        return min(_metadata_versions(content), default=0) >= _SINCE_4_1
    except (OSError, CorruptionError):
        return False


def _metadata_versions(content: bytes) -> list[int]:
    # Imported here, because the schemas of all records are slow to load, and few directories have such a file.
    from octavo.format.messages.cluster_metadata import decode_metadata_record

    levels = []
    for batch in walk(content).table:
        if batch["flaws"] or batch["attributes"] & CONTROL:
            continue
        _, records = decode_batch(content, int(batch["position"]))
        for record in records:
            if record.value is None:
                continue
            found = decode_metadata_record(record.value)
            if found.type.message.name == "FeatureLevelRecord" and found.data["name"] == _METADATA_VERSION:
                levels.append(int(found.data["featureLevel"]))
    return levels
