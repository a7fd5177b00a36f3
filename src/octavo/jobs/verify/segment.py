"""Checks one segment: reads its log and the files that belong to it in an order in which a broker keeps them
consistent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from octavo.errors import CorruptionError
from octavo.format.names import LEADER_EPOCH_CHECKPOINT, FileKind, PartitionFolder, SegmentFile, Transient
from octavo.format.small_files import leader_epochs
from octavo.format.small_files.leader_epochs import EpochEntry
from octavo.jobs.verify import severities
from octavo.jobs.verify.epochs import EpochCheck, Unlisted
from octavo.jobs.verify.finding import Finding, FindingCollector
from octavo.jobs.verify.index_bytes import read_index
from octavo.jobs.verify.log import LogCheck
from octavo.jobs.verify.offset_index import OffsetIndexCheck, TimeWitness
from octavo.jobs.verify.producers import ProducerCheck
from octavo.jobs.verify.records import RecordCheck
from octavo.jobs.verify.time_index import TimeIndexCheck
from octavo.jobs.verify.txn_index import TxnIndexCheck
from octavo.jobs.verify.view import SegmentView
from octavo.scanner.partition.index_files import end_unused
from octavo.scanner.partition.tail import LOOKS, WriterPatience
from octavo.scanner.places.files import FileStat, ListedSegment, read_partition, snapshot_path
from octavo.scanner.places.location import Location
from octavo.scanner.places.root import Root, read_small
from octavo.scanner.places.segment_log import follow, walk_file

_SEGMENT_KINDS = (FileKind.LOG, FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX)


@dataclass(frozen=True, slots=True)
class SegmentResult:
    """What was found in a segment, and how much it holds."""

    findings: list[Finding]
    next_offset: int | None = None  # after its last sound batch; None: the segment is gone or unreadable
    batches: int = 0
    records: int = 0
    size: int = 0
    unlisted: Unlisted | None = None  # batches before the first known leader epoch


@dataclass(frozen=True, slots=True)
class SegmentTask:
    """Verify one segment. Picklable."""

    view: SegmentView
    patience: WriterPatience

    @property
    def size(self) -> int:
        return self.view.segment.log.size

    def run(self) -> SegmentResult:
        """Verify the segment, up to `LOOKS` times as long as there are problems and its files may be changing.

        A segment being deleted is not a finding.
        """
        view: SegmentView | None = self.view
        result = SegmentResult([])
        for look in range(LOOKS):
            assert view is not None
            findings = FindingCollector()
            try:
                result = _verify(view, findings)
            except FileNotFoundError:
                findings = FindingCollector()
                result = SegmentResult([])
            except OSError as error:
                findings.add_failure(error.filename or view.path(), error)
            result = replace(result, findings=findings.all())
            if result.next_offset is not None and not findings.has_problem():
                return result
            if look:
                self.patience.pause()
            fresh = _relisted(view)
            if fresh is None:
                return SegmentResult([])
            if fresh == view and not self.patience.is_recent(view.path().entry()):
                return result
            view = fresh
        return result


def _relisted(view: SegmentView) -> SegmentView | None:
    """The same segment as it is now; None if it is gone.

    While the next segment exists, only this one's files are looked at, so that thousands of segments with problems do
    not each list the whole folder.
    """
    following = None if view.next_base_offset is None else _stat(view, FileKind.LOG, view.next_base_offset)
    if following is not None:
        view = replace(view, is_before_empty=view.is_before_empty and not following.size)
        base, transient = view.base_offset, view.segment.transient
        log, offsets, times, txns = (_stat(view, kind, base, transient) for kind in _SEGMENT_KINDS)
        return None if log is None else replace(view, segment=ListedSegment(base, log, offsets, times, txns, transient))
    try:
        files = read_partition(Root(view.folder.parent), view.folder, PartitionFolder("", 0))
    except (FileNotFoundError, NotADirectoryError):
        return None
    found = [segment for segment in files.segments if segment.base_offset == view.base_offset]
    if view.segment.transient:
        found = [s for s in files.transient_segments(view.segment.transient) if s.base_offset == view.base_offset]
    if not found:
        return None
    following_bases = [segment.base_offset for segment in files.segments if segment.base_offset > view.base_offset]
    return replace(view, segment=found[0], next_base_offset=min(following_bases, default=None))


def _stat(
    view: SegmentView, kind: FileKind, base_offset: int, transient: Transient = Transient.NONE
) -> FileStat | None:
    try:
        entry = view.folder.child(SegmentFile(base_offset, kind, transient).name).entry()
    except FileNotFoundError:
        return None
    return FileStat(entry.size, entry.mtime_ms)


def _verify(view: SegmentView, findings: FindingCollector) -> SegmentResult:
    """Read the segment's files and compare them.

    The offset and the time index are read before the size of the log is taken, because a broker writes them after the
    log; the leader epochs are read after it, because they are written before the batches.
    """
    offset_index = read_index(view, FileKind.OFFSET_INDEX, findings)
    time_index = read_index(view, FileKind.TIME_INDEX, findings)
    indexes = [index for index in (offset_index, time_index) if index.is_there]
    are_untrimmed = end_unused(index.zero_slots > 0 for index in indexes) is True
    unused = severities.of_unused_entries(view, are_untrimmed=are_untrimmed)
    small_files = _SmallFiles(findings)
    seed = small_files.read(snapshot_path(view.folder, view.base_offset))
    with follow(view.path()) as file:
        log = LogCheck(view, file, findings)
        txn_index = view.path(FileKind.TXN_INDEX)
        txns = TxnIndexCheck(view, small_files.read(txn_index) or b"", findings)
        times = TimeIndexCheck(time_index, view, unused, findings)
        witness = TimeWitness(time_index.is_there, times.timestamps)
        offsets = OffsetIndexCheck(offset_index, view, witness, unused, findings)
        records = RecordCheck(view.path(), findings)
        checkpoint = view.folder.child(LEADER_EPOCH_CHECKPOINT)
        epochs = EpochCheck(view.path(), checkpoint, _leader_epochs(checkpoint), findings)
        producers = ProducerCheck(view, seed, findings)
        for part in log.parts(are_untrimmed):
            records.take(part)
            epochs.take(part)
            producers.take(part)
            txns.take(part)
            offsets.take(part, log)
            times.take(part, log)
            witness.take(part)
        times.finish(view, log)
        offsets.finish(log, times_are_sound=not times.wrong)
        log.check_last_batch(offsets.wrong, times.wrong)
        txns.finish(view, log, None if txn_index in small_files.unreadable else producers.expected())
        epochs.finish()
    end = log.next_offset if view.next_base_offset is None else view.next_base_offset
    if log.next_offset == end:
        after = small_files.read(snapshot_path(view.folder, end))
        if after is not None:
            producers.check_snapshot(snapshot_path(view.folder, end), end, after, partial(_next_producer_id, view))
    return SegmentResult([], log.next_offset, log.batches, records.records, log.position, epochs.unlisted)


def _next_producer_id(view: SegmentView) -> int | None:
    """The producer of the first batch in the next segment; None if there is none."""
    if view.next_base_offset is None:
        return None
    path = view.folder.child(SegmentFile(view.next_base_offset, FileKind.LOG).name)
    try:
        with path.open() as file:
            for chunk in walk_file(file, 0, file.size(), check_crc=False):
                return int(chunk.table[0]["producer_id"]) if len(chunk.table) else None
    except OSError:
        return None  # reported by the task for that segment
    return None


def _leader_epochs(checkpoint: Location) -> list[EpochEntry]:
    """The partition's epochs; the folder's task reports a damaged file."""
    try:
        return read_small(checkpoint, leader_epochs.decode) or []
    except CorruptionError:
        return []


class _SmallFiles:
    """Reads the small files of a segment. An unreadable one is reported, and does not stop other checks."""

    def __init__(self, findings: FindingCollector) -> None:
        self.unreadable: set[Location] = set()
        self._findings = findings

    def read(self, location: Location) -> bytes | None:
        """The content; None if the file does not exist, empty if it cannot be read."""
        try:
            return location.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._findings.add_failure(location, error)
            self.unreadable.add(location)
            return b""
