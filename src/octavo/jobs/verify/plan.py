"""What is to be verified in places, as tasks that know nothing of each other."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from octavo.errors import ScanError
from octavo.format.names import CLEAN_SHUTDOWN, CLUSTER_METADATA_TOPIC, META_PROPERTIES, FolderState
from octavo.jobs.verify.finding import Findings, Problem
from octavo.jobs.verify.folder import FolderTask
from octavo.jobs.verify.formatted import has_an_entry_a_batch
from octavo.jobs.verify.root import RootTask
from octavo.jobs.verify.segment import SegmentTask
from octavo.jobs.verify.view import SegmentView
from octavo.scanner.log_dirs import Place, distinct
from octavo.scanner.partition.snapshot import effective_segments, relisted, retrying
from octavo.scanner.partition.tail import WriterPatience
from octavo.scanner.places.directory import Directory, Wanted, read_directory
from octavo.scanner.places.files import ListedSegment, PartitionFiles
from octavo.scanner.places.location import Location

VerifyTask = RootTask | FolderTask | SegmentTask


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """A partition's tasks; of a single segment file there is none for its folder."""

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
    findings: Findings = field(default_factory=Findings)  # of the listing itself
    is_empty: bool = False  # whether there is no partition, be it one that cannot be read

    def tasks(self) -> list[VerifyTask]:
        root: list[VerifyTask] = [self.root] if self.root is not None else []
        return root + [task for partition in self.partitions for task in partition.tasks()]


def plan(
    places: Iterable[Place], wanted: Wanted | None = None, patience: WriterPatience | None = None
) -> list[DirectoryPlan]:
    """List the places, each once; every folder in them is verified, also where two hold the same partition.

    With `wanted` only these partitions are, but always the files in the root.
    """
    patience = patience or WriterPatience()
    return [_plan(read_directory(place, wanted), patience) for place in distinct(places)]


def _plan(directory: Directory, patience: WriterPatience) -> DirectoryPlan:
    clean = _is_there(directory.root.location.child(CLEAN_SHUTDOWN))
    entry_a_batch = has_an_entry_a_batch(directory.root.location)
    recovery_points = directory.root.recovery_points()
    # What the file does not name has never been flushed. Where there is neither the file nor the one that an owner
    # makes first, these are folders without their root, and nobody can tell.
    is_root = bool(recovery_points) or _is_there(directory.root.location.child(META_PROPERTIES))
    root = None
    findings = Findings()
    if not directory.single:
        root = RootTask(directory.place, tuple(directory.files), tuple(directory.unknown), patience)
        for note in directory.notes:
            findings.add(note.path, None, Problem.UNREADABLE_FILE, note.sentence)
    partitions = []
    for files in (*directory.partitions.values(), *directory.leaving):
        try:
            # A node recovers its metadata log at each start: the mark does not speak of it.
            is_marked = clean and files.folder.topic != CLUSTER_METADATA_TOPIC
            recovery_point = recovery_points.get(files.topic_partition, 0 if is_root else None)
            marks = _Marks(is_marked, entry_a_batch, directory.single, recovery_point)
            partitions.append(_partition(files, patience, marks))
        except ScanError:
            continue  # deleted since it was listed
    return DirectoryPlan(directory.place, root, partitions, findings, not partitions and not directory.topics)


class _Marks(NamedTuple):
    """What the root of a directory says of its partitions, and whether a partition was given as a place itself."""

    is_clean: bool
    entry_a_batch: bool
    is_given: bool
    recovery_point: int | None


def _partition(files: PartitionFiles, patience: WriterPatience, marks: _Marks) -> PartitionPlan:
    """What is being deleted is read only where it was asked for by name; its logs are left as they were then."""
    is_leaving = files.folder.state is FolderState.DELETE
    is_read, clean = marks.is_given or not is_leaving, marks.is_clean and not is_leaving
    unflushed_from = None if clean else marks.recovery_point
    folder = FolderTask(files, patience, is_read, unflushed_from) if files.whole else None
    if is_leaving and not marks.is_given:
        return PartitionPlan(files, marks.is_clean, folder, [])
    segments = retrying(files, effective_segments)
    bases = [segment.base_offset for segment in (segments if files.whole else _all_segments(files))]
    tasks = []
    for segment in segments:
        slot = bisect_right(bases, segment.base_offset)
        behind = bases[slot] if slot < len(bases) else None
        is_before_empty = slot == len(bases) - 1 and not segments[-1].log.size
        era = marks.entry_a_batch
        view = SegmentView(files.location, segment, behind, clean, era, marks.recovery_point, is_before_empty)
        tasks.append(SegmentTask(view, patience))
    return PartitionPlan(files, clean, folder, tasks)


def _all_segments(files: PartitionFiles) -> tuple[ListedSegment, ...]:
    return relisted(replace(files, whole=True)).segments


def _is_there(location: Location) -> bool:
    try:
        location.entry()
    except OSError:
        return False
    return True
