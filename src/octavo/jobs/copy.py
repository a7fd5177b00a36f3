"""Copies partitions batch by batch, as a follower does from its leader: offsets and bytes do not change.

The source may be in use, or damaged: what cannot be read is skipped and reported. If the destination already has the
first part of a partition, the copy continues where that part ends (`copy_start`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from octavo.config import Given
from octavo.errors import CorruptRecordError, UnexpectedAppendOffsetError
from octavo.format.batches.batch_summary import last_offset, last_offsets
from octavo.format.batches.chunk_walk import Chunk
from octavo.format.batches.sound import unreadable
from octavo.format.names import TopicPartition
from octavo.jobs.copy_start import copy_start_offset
from octavo.jobs.losses import FilePosition, LostPart, after_log_end, between, gap_text
from octavo.kernels.layout import CONTROL, TRANSACTIONAL
from octavo.scanner.findings import Note, ScanFindings
from octavo.scanner.lookup.bounds import OffsetRange
from octavo.scanner.partition.flushed import MissingEnd, missing_end, missing_end_note
from octavo.scanner.partition.snapshot import PartitionSnapshot, take_snapshot
from octavo.scanner.places.files import PartitionFiles
from octavo.scanner.reading.plan import plan_partition
from octavo.scanner.reading.read import sound_batches
from octavo.scanner.reading.source import Source
from octavo.storage.log.roll import roll_reason
from octavo.storage.log.shorten import advance_log_start
from octavo.storage.log_manager import LogManager
from octavo.storage.partition_log import PartitionLog
from octavo.storage.topics.topic_configs import TopicConfigs
from octavo.system.runner import Progress

_MOST_BATCHES = 4096  # appended at once


@dataclass(frozen=True, slots=True)
class CopyTask:
    """A partition as it is now; what is appended to it later is not copied."""

    snapshot: PartitionSnapshot
    topic_id: bytes | None
    is_compacted: bool  # False if the source's configs are unknown
    keeps_all: bool = False  # known not to be compacted
    missing: MissingEnd | None = None  # what was flushed at its end, and is gone
    notes: tuple[Note, ...] = ()

    @property
    def topic_partition(self) -> TopicPartition:
        return self.snapshot.files.topic_partition

    @property
    def size(self) -> int:
        return sum(segment.log.size for segment in self.snapshot.segments)


@dataclass(slots=True)
class Copied:
    """What was copied from a partition."""

    start_offset: int  # where the copying began
    end_offset: int  # after the last batch
    batches: int = 0
    size: int = 0
    damage_count: int = 0
    lost: list[LostPart] = field(default_factory=list)  # what damaged bytes must have held, or was flushed and is gone
    gaps: list[LostPart] = field(default_factory=list)  # missing between segments, though the topic is not compacted
    after_end: LostPart = field(default_factory=LostPart)  # what follows the source's last sound batch
    notes: list[Note] = field(default_factory=list)


def plan(partitions: Iterable[PartitionFiles], configs: TopicConfigs | None = None) -> list[CopyTask]:
    """One task per partition. `configs` are those of the source, if known."""
    tasks = []
    for files in partitions:
        snapshot = take_snapshot(files)
        topic, notes = snapshot.files.topic_partition.topic, list[Note]()
        topic_id = snapshot.files.topic_id_or_note(notes, "; the topic id is not copied from here")
        is_compacted = configs is not None and "compact" in configs.of(topic).cleanup_policy
        keeps_all = configs is not None and configs.keeps_all_offsets(topic)
        tasks.append(CopyTask(snapshot, topic_id, is_compacted, keeps_all, missing_end(snapshot), tuple(notes)))
    return tasks


def prepare(logs: LogManager, topic: str, tasks: Sequence[CopyTask], configs: Mapping[str, Given]) -> None:
    """Create the topic in the destination, with the source's id and partitions; if it exists, only those it lacks.

    An existing topic keeps its configs, except for the given ones; one with another id raises an error.
    """
    numbers = [task.topic_partition.partition for task in tasks]
    topic_id = next((task.topic_id for task in tasks if task.topic_id is not None), None)
    if topic not in logs.topics:
        logs.create_topic(topic, numbers, configs, topic_id)
        return
    if topic_id is not None:
        for partition in logs.topics[topic]:
            logs.log(topic, partition).check_topic_id(topic_id)
    if configs:
        logs.alter_configs(topic, configs)
    if not set(numbers) <= set(logs.topics[topic]):
        logs.create_partitions(topic, numbers)


def run(
    task: CopyTask,
    log: PartitionLog,
    progress: Progress,
    is_ending: Callable[[], bool] = lambda: False,
    *,
    dry_run: bool = False,
) -> Copied:
    """Append the partition's batches to a log, as if one by one, and make the log start where the source does.

    `progress` is called with the number of bytes read. Once `is_ending` returns True, the rest is left for later. A
    `dry_run` reads everything and appends nothing.
    """
    source, findings = task.snapshot, ScanFindings("skip")
    findings.take((*task.notes, *source.notes))
    if source.failure is not None:
        findings.unreadable(source.files.location, source.failure)
    start = copy_start_offset(source, log, is_compacted=task.is_compacted)
    copied = Copied(start, start)
    parts = plan_partition(source, OffsetRange(start, source.log_end_offset))
    first = parts[0].ranges[0] if parts else None
    place = FilePosition(str(source.files.location.child(first.name)), first.start) if first else FilePosition("", 0)
    copying = _Copying(task, log, findings, copied, dry_run, findings.damage_count, place)
    for part in parts:
        for chunk in Source(part, findings):
            if is_ending():
                break
            copying.take(chunk, part.end_offset)
            progress(int(chunk.table["size"].sum(dtype=np.int64)))
    if not is_ending():
        copying.finish()
    if not dry_run:
        advance_log_start(log, min(source.log_start_offset, log.log_end_offset))
    copied.damage_count, copied.notes = findings.damage_count, findings.notes
    return copied


@dataclass(slots=True)
class _Copying:
    """The copying of one partition."""

    task: CopyTask
    log: PartitionLog
    findings: ScanFindings
    copied: Copied
    dry_run: bool
    known_damages: int  # how many were found up to the last batch
    place: FilePosition  # after the last sound batch
    is_after_damage: bool = False

    def take(self, chunk: Chunk, end: int) -> None:
        """Append the chunk's batches that are not in the log yet."""
        start = self.copied.end_offset
        self._notice_damage()
        sound = sound_batches(chunk, start, end, self.findings)
        left = sound[(last_offsets(sound) >= start) & (sound["base_offset"] < end)]
        self._pass(chunk, sound[last_offsets(sound) < start])
        breaks: set[int] = set()  # rows of `left` with damage right before them; `len(left)`: damage after the last one
        if self.findings.damage_count > self.known_damages:
            damaged = chunk.table["position"][unreadable(chunk.table)]
            breaks = set(np.searchsorted(left["position"], damaged).tolist())
        row = 0
        while row < len(left):
            self.is_after_damage |= row in breaks
            position = chunk.file_position + int(left[row]["position"])
            self._note_loss_up_to(int(left[row]["base_offset"]), FilePosition(chunk.path, position))
            until = min((found for found in breaks if found > row), default=len(left))
            count = until - row if self.dry_run else run_length(self.log, left[row:until])
            self._append(chunk, left[row : row + count])
            self._pass(chunk, left[row : row + count])
            row += count
        self.is_after_damage |= len(left) in breaks
        self.known_damages = self.findings.damage_count

    def _pass(self, chunk: Chunk, batches: NDArray[np.void]) -> None:
        if len(batches):
            end = chunk.file_position + int(batches[-1]["position"]) + int(batches[-1]["size"])
            self.place = FilePosition(chunk.path, end)

    def _note_loss_up_to(self, offset: int, place: FilePosition | None) -> None:
        """Note the offsets before this one that are missing, if there is damage where they would be, and what is there;
        or if they are missing between two segments of a topic that is not compacted.

        `place` is where the batch with this offset begins; None: the log's end.
        """
        first, last = self.copied.end_offset, offset - 1
        if self.is_after_damage and first <= last:
            lost = between(self.task.snapshot, self.place, place)
            lost.first_offset, lost.last_offset = first, last
            self.copied.lost.append(lost)
        elif self.task.keeps_all and first <= last and place is not None and place.path != self.place.path:
            self.copied.gaps.append(LostPart(first_offset=first, last_offset=last))
            self.findings.note(place.path, gap_text(first, last))
        self.is_after_damage = False

    def finish(self) -> None:
        """Note what is missing at the source's end, and what lies after it."""
        source, missing = self.task.snapshot, self.task.missing
        self._notice_damage()
        self._note_loss_up_to(source.log_end_offset, None)
        after_end = self.copied.after_end = after_log_end(source)
        if missing is None:
            return
        known = missing.end_offset if after_end.last_offset is None else after_end.last_offset + 1
        if gone := MissingEnd.of(max(known, missing.end_offset), missing.recovery_point):
            self.copied.lost.append(LostPart(first_offset=gone.end_offset, last_offset=gone.last_offset))
            self.findings.count([missing_end_note(source, missing)])

    def _notice_damage(self) -> None:
        """Notice what the source reported between two chunks."""
        self.is_after_damage |= self.findings.damage_count > self.known_damages
        self.known_damages = self.findings.damage_count

    def _append(self, chunk: Chunk, batches: NDArray[np.void]) -> None:
        """Append batches that lie one after the other."""
        position, stop = int(batches[0]["position"]), int(batches[-1]["position"] + batches[-1]["size"])
        try:
            if not self.dry_run:
                _append_batches(memoryview(chunk.data)[position:stop], int(batches[0]["base_offset"]), self.log)
        except UnexpectedAppendOffsetError as error:
            place = chunk.file_position + position
            self.findings.damage(CorruptRecordError(str(error), position=place, path=chunk.path))
            self.known_damages = self.findings.damage_count  # these offsets are not missing: the log has them
            return
        self.copied.batches += len(batches)
        self.copied.size += int(batches["size"].sum(dtype=np.int64))
        self.copied.end_offset = max(self.copied.end_offset, last_offset(batches[-1]) + 1)


def _append_batches(data: memoryview, base_offset: int, log: PartitionLog) -> None:
    try:
        log.append_as_follower(data)
    except UnexpectedAppendOffsetError as error:
        if log.size or error.last_offset < error.log_end_offset:
            raise
        # The source starts in the middle of its first batch; a follower's log begins with that whole batch.
        log.truncate_fully(base_offset)
        log.append_as_follower(data)


def run_length(log: PartitionLog, table: NDArray[np.void]) -> int:
    """How many of the table's first batches, at least 1, can be appended at once with the same result as one by one.

    Whether to roll is decided before each append, and the index entry of an aborted transaction depends on which other
    transactions are open at that moment. So a run ends where the segment might be rolled, and before a transactional
    batch; the first batch of a segment is a run of its own, because the segment's age is measured from it.
    """
    active, first = log.segments.active, table[0]
    if not active.size or first["attributes"] & (TRANSACTIONAL | CONTROL) or first["base_offset"] < log.log_end_offset:
        return 1
    room = min(active.files.offset_index.room, active.files.time_index.room, _MOST_BATCHES)
    table = table[: max(room, 1)]
    follows = _follows(table)
    fits = np.cumsum(table["size"], dtype=np.int64) <= log.config.segment_bytes - active.size
    broken = np.flatnonzero(~(follows & fits))
    count = max(int(broken[0]) if len(broken) else len(table), 1)
    now_ms = log.environment.clock.time_ms()
    while count > 1 and roll_reason(active, *_incoming(table[:count]), log.config, now_ms) is not None:
        count //= 2
    return count


def _follows(table: NDArray[np.void]) -> NDArray[np.bool_]:
    """Which batches can be appended together with the one before them."""
    found: NDArray[np.bool_] = table["attributes"] & (TRANSACTIONAL | CONTROL) == 0
    ends = table["position"] + table["size"]
    found[1:] &= (table["position"][1:] == ends[:-1]) & (table["base_offset"][1:] > last_offsets(table)[:-1])
    found[1:] &= table["magic"][1:] == table["magic"][:-1]  # a batch in an old format clears the leader epochs
    return found


def _incoming(table: NDArray[np.void]) -> tuple[int, int, int]:
    """The batches' size, last offset and largest timestamp."""
    return int(table["size"].sum(dtype=np.int64)), last_offset(table[-1]), int(table["max_timestamp"].max())
