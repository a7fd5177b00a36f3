"""A partition's log, as its owner uses it: append, read, find, retain, truncate, flush, close."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from octavo.config import LogConfig
from octavo.errors import KafkaStorageError, OffsetOutOfRangeError, PolicyViolationError
from octavo.format.entry_layout import INT32_MAX
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.format.record import SpecialTimestamp
from octavo.kernels.layout import NO_LEADER_EPOCH, NO_TIMESTAMP
from octavo.storage.append.append import AppendResult, append
from octavo.storage.append_origin import AppendOrigin, AppendRequest
from octavo.storage.log import lookup, read, truncate
from octavo.storage.log.log_state import LogState
from octavo.storage.log.lookup import NOT_FOUND, FoundOffset
from octavo.storage.log.read import Fetched, Isolation, Request
from octavo.storage.log.retain import Verdict
from octavo.storage.log.retention_round import retention_round
from octavo.storage.log.topic_id_file import TopicIdFile
from octavo.storage.recovery.load import LoadRequest, load
from octavo.storage.recovery.recover import no_progress
from octavo.storage.segment.delete import Deleter, remove_folder
from octavo.storage.segment.segment import Segment
from octavo.storage.segment.segments import Segments
from octavo.storage.segment.swap import Swap
from octavo.system.filesystem import is_disk_failure
from octavo.system.forks import FORKED

if TYPE_CHECKING:
    from typing_extensions import Buffer

Result = TypeVar("Result")

_CLOSED = "it is closed"
_log = logging.getLogger(__name__)

# DeleteRecords with this offset means: up to the high watermark.
TO_HIGH_WATERMARK = -1


class PartitionLog:
    """Thread-safe. Appends, rolls, retention and truncation take turns; readers wait for none of them.

    Where there is no other replica, each append raises the high watermark to the log's end (`is_sole_replica`).
    An error that says that the disk failed makes the log unusable: `on_failure` is told, further calls raise
    KafkaStorageError, and the next load recovers. Whatever else interrupts a change (Ctrl-C, too many open files)
    leaves the log uncertain, since what it holds in memory may differ from the disk: before its next use under the
    lock it is loaded again.
    """

    def __init__(
        self, request: LoadRequest, *, is_sole_replica: bool = True, on_failure: Callable[[OSError], None] | None = None
    ) -> None:
        self.folder = request.folder
        self.is_sole_replica = is_sole_replica
        self._on_failure = on_failure
        self._failure: str | None = None
        self._request = request
        self._filesystem = request.environment.filesystem
        loaded = load(request)
        self.recovered, self.dropped, self.deleted_files = loaded.recovered, loaded.dropped, loaded.deleted_files
        self.state = LogState(loaded.parts, request.config, request.environment)
        self.state.guard = self._usable
        self.state.heal = self._reload
        self._topic_id_file = TopicIdFile(self._filesystem, self.folder)
        if is_sole_replica:
            self.state.update_high_watermark(self.log_end_offset)

    @property
    def config(self) -> LogConfig:
        return self.state.config

    def configure(self, config: LogConfig) -> None:
        """Take new configs: from the next append, roll or retention round on."""
        self.state.configure(config)

    @property
    def segments(self) -> Segments:
        return self.state.local.segments

    @property
    def size(self) -> int:
        """Bytes of all segments' batches."""
        return self.state.local.size

    @property
    def log_start_offset(self) -> int:
        return self.state.log_start_offset

    @property
    def log_end_offset(self) -> int:
        return self.state.local.log_end_offset

    @property
    def high_watermark(self) -> int:
        return self.state.high_watermark

    @property
    def last_stable_offset(self) -> int:
        return self.state.last_stable_offset

    @property
    def recovery_point(self) -> int:
        return self.state.local.recovery_point

    @property
    def latest_epoch(self) -> int | None:
        return self.state.epochs.latest_epoch

    @property
    def leader_epoch(self) -> int:
        """The epoch of our own appends."""
        return self.state.epochs.leader_epoch

    def append_as_leader(
        self,
        data: Buffer,
        *,
        leader_epoch: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        transaction_version: int | None = None,
        trusted: bool = False,
    ) -> AppendResult:
        """Append batches, which get the log's next offsets. A writable buffer is changed in place."""
        return self._append(data, AppendRequest(origin, leader_epoch, transaction_version, trusted))

    def append_as_follower(self, data: Buffer, *, leader_epoch: int = INT32_MAX) -> AppendResult:
        """Append batches that keep their offsets, up to the first of a later leader epoch than the given one."""
        return self._append(data, AppendRequest(AppendOrigin.REPLICATION, leader_epoch))

    def _append(self, data: Buffer, request: AppendRequest) -> AppendResult:
        self._check_usable("append")
        state = self.state
        try:
            result = append(state, data, request)
            if self.is_sole_replica:  # of a duplicate, too: its first append may have been interrupted here
                state.high_watermark_to_end()
            state.maybe_flush()
        except OSError as error:
            raise self._failed("append", error) from error
        return result

    def read(
        self,
        start_offset: int,
        max_bytes: int,
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
        *,
        min_one_batch: bool = True,
    ) -> Fetched:
        """Batches from the one that holds the offset on, as a range of a file; OffsetOutOfRangeError beyond the log."""
        request = Request(start_offset, max_bytes, min_one_batch)
        return self._reading(lambda: self._read(request, isolation))

    def fetch(self, start_offset: int, max_bytes: int, isolation: Isolation) -> tuple[Fetched, bytes]:
        """`read`, with the bytes."""

        def read_once() -> tuple[Fetched, bytes]:
            found = self._read(Request(start_offset, max_bytes), isolation)
            return found, found.read()

        return self._reading(read_once)

    def _read(self, request: Request, isolation: Isolation) -> Fetched:
        committed = isolation is Isolation.READ_COMMITTED
        return read.read(self.segments, self.state.limits(isolation), request, with_aborted=committed)

    def aborted_transactions(self, start_offset: int, upper_bound_offset: int) -> Sequence[AbortedTxn]:
        """The aborted transactions that overlap the offsets from the start up to, not including, the upper bound."""
        return self._reading(lambda: read.aborted_transactions(self.segments, start_offset, upper_bound_offset))

    def offset_for_timestamp(self, timestamp: int, isolation: Isolation = Isolation.READ_UNCOMMITTED) -> FoundOffset:
        """What ListOffsets answers for a timestamp or a special one (`lookup.SpecialTimestamp`)."""
        if timestamp >= 0:
            found = self._reading(lambda: lookup.by_timestamp(self.segments, timestamp, self.log_start_offset))
        elif timestamp == SpecialTimestamp.LATEST:
            return FoundOffset(NO_TIMESTAMP, self._last_fetchable(isolation), _or_none(self.latest_epoch))
        elif timestamp in (SpecialTimestamp.EARLIEST, SpecialTimestamp.EARLIEST_LOCAL):
            start = self.log_start_offset
            return FoundOffset(NO_TIMESTAMP, start, _or_none(self.state.epochs.epoch_for_offset(start)))
        elif timestamp == SpecialTimestamp.MAX_TIMESTAMP:
            found = self._reading(lambda: lookup.of_max_timestamp(self.segments))
        else:
            found = None  # nothing is tiered
        if found is None or found.offset >= self._last_fetchable(isolation):
            return NOT_FOUND
        return FoundOffset(found.timestamp, found.offset, found.leader_epoch)

    def retain(self, *, dry_run: bool = False) -> list[Verdict]:
        """One round of retention: drop the segments that the limits condemn; says what becomes of each and why."""
        with self._usable("retain"), self._locked():
            return retention_round(self.state, dry_run=dry_run)

    def delete_records(self, offset: int) -> int:
        """Raise the log start to an offset, -1 for the high watermark; returns the log start. Files go by retention."""
        with self._usable("delete records"), self._locked():
            if "compact" in self.config.cleanup_policy and "delete" not in self.config.cleanup_policy:
                policy = ",".join(self.config.cleanup_policy)
                raise PolicyViolationError(f"{self.folder.name}: cleanup.policy is {policy}, expected one with delete")
            target = self.high_watermark if offset == TO_HIGH_WATERMARK else offset
            if not 0 <= target <= self.high_watermark:
                raise OffsetOutOfRangeError(target, self.log_start_offset, self.high_watermark)
            self.state.advance_log_start(target)
            return self.log_start_offset

    def truncate_to(self, offset: int) -> bool:
        """Drop every batch that holds the offset or lies behind it; says whether the log changed."""
        with self._usable("truncate"), self._locked():
            return truncate.truncate_to(self.state, offset)

    def truncate_fully(self, offset: int, log_start_offset: int | None = None) -> None:
        """Drop everything and begin anew at the offset."""
        with self._usable("truncate"), self._locked():
            truncate.truncate_fully(self.state, offset, log_start_offset)

    def replace_segments(self, old: Sequence[Segment], new: Sequence[Segment]) -> None:
        """Put segments that were written beside the log (as `.cleaned`) into the place of others, all or none."""
        with self._usable("replace segments"), self._locked():
            world = self.state.environment
            deleter = Deleter(self._filesystem, world.scheduler)
            swap = Swap(self._filesystem, self.folder, self.segments, deleter)
            gone = swap.replace(old, new, self.config.file_delete_delay_ms)
            self.state.delete_snapshots(gone)
            self.state.update_high_watermark(self.high_watermark)  # its place may lie elsewhere now

    def roll(self) -> None:
        """Begin a new segment at the log's end."""
        with self._usable("roll"), self._locked():
            self.state.roll(self.log_end_offset)

    def flush(self) -> None:
        """Sync everything to the disk; on return no crash can lose it."""
        with self._usable("flush"):
            self.state.flush(self.log_end_offset)

    def remove_expired_producers(self) -> None:
        """Forget the producers that were idle for producer.id.expiration.ms."""
        with self._usable("expire producers"), self._locked():
            self.state.producers.state.remove_expired(self.state.environment.clock.time_ms())

    @property
    def topic_id(self) -> bytes | None:
        """The id of the log's topic; None where no partition.metadata names it."""
        return self._topic_id_file.topic_id

    def check_topic_id(self, topic_id: bytes) -> None:
        """Refuse the id of another topic (InconsistentTopicIdError)."""
        self._topic_id_file.check(topic_id)

    def set_topic_id(self, topic_id: bytes) -> None:
        """Write partition.metadata, unless it names this topic already; another one is refused."""
        with self._usable("write partition.metadata"):
            self._topic_id_file.write(topic_id)

    def close(self) -> None:
        """Leave the folder as after a clean stop: 1. A snapshot of the producers at the log's end. 2. The closing time
        index entry, files trimmed. 3. All synced. The log cannot be used after that. A log that was loaded clean and
        never changed needs no work; in a large directory that is most of them.
        """
        if self._failure == _CLOSED:
            return
        with self._usable("close"), self._locked():
            state, end = self.state, self.log_end_offset
            state.producers.state.map_end_offset = end
            snapshot = state.producers.take_snapshot()
            if state.local.is_changed or snapshot is not None:
                self.segments.active.close_out()
                state.flush(end, with_empty_active=True, in_change=True)
            self.abandon(_CLOSED)

    def leave(self, name: str) -> None:
        """Give the folder the name of one that is to be deleted; nothing but `delete` can be done then.

        1. Rename. 2. Sync the parent. After a crash the folder is found under one of the two names.
        """
        with self._usable("rename"), self._locked():
            folder = self.folder.with_name(name)
            self._filesystem.rename(self.folder, folder)
            self.folder = folder
            self.abandon("it is deleted")
            self._filesystem.fsync_folder(folder.parent)

    def delete(self) -> None:
        """Remove the folder with all that is in it. The log cannot be used after that."""
        with self.state.lock, self._noting_failure("delete"):
            self.abandon("it is deleted")
            remove_folder(self._filesystem, self.folder)

    def abandon(self, reason: str) -> None:
        """Close without writing anything, since the disk failed or the folder is gone."""
        self._failure = reason
        self.state.is_closed = True
        self.state.local.release()

    def disown(self) -> None:
        """In a forked child: refuse every use. No lock is taken, which a thread of the parent's may have held."""
        self._failure = FORKED
        self.state.lock = threading.RLock()
        self.state.is_closed = True

    def _last_fetchable(self, isolation: Isolation) -> int:
        if isolation is Isolation.READ_COMMITTED:
            return self.last_stable_offset
        return self.high_watermark if isolation is Isolation.READ_UNCOMMITTED else self.log_end_offset

    def _reading(self, read_once: Callable[[], Result]) -> Result:
        """Read; once more, while no segment can go, if one's file went away between its choice and its opening."""
        if self._failure is None:
            try:
                return read_once()
            except FileNotFoundError:
                pass
            except OSError as error:
                raise self._failed("read", error) from error
        with self._usable("read"), self.state.lock:
            self.state.check_open()
            return read_once()

    @contextmanager
    def changing(self, action: str) -> Iterator[None]:
        """For whoever changes the log with means of its own: under its lock, whole or loaded again."""
        with self._usable(action), self._locked():
            yield

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Change the log under its lock. A change that does not come to its end leaves the log uncertain."""
        state = self.state
        with state.lock:
            state.check_open()
            state.is_uncertain = True
            try:
                yield
            except (PolicyViolationError, OffsetOutOfRangeError):  # refused before anything was changed
                state.is_uncertain = False
                raise
            state.is_uncertain = False

    @contextmanager
    def _usable(self, action: str) -> Iterator[None]:
        """Refuse to work on a log that failed or was closed, and note when it fails."""
        self._check_usable(action)
        with self._noting_failure(action):
            yield

    @contextmanager
    def _noting_failure(self, action: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._failed(action, error) from error

    def _check_usable(self, action: str) -> None:
        if self._failure is not None:
            raise KafkaStorageError(f"{self.folder}: cannot {action}, {self._failure}")

    def _reload(self) -> None:
        """Load the log again after a change of it was interrupted; its lock is held."""
        state, old = self.state, self.state.local
        if not self._filesystem.exists(self.folder):
            self.abandon("its folder is gone")
            raise KafkaStorageError(f"{self.folder}: cannot load it again, {self._failure}")
        _log.warning("%s: a change was interrupted; loading the log again", self.folder)
        for segment in old.segments:
            segment.files.retire()
        request = replace(
            self._request,
            folder=self.folder,
            config=state.config,
            clean=False,
            log_start_offset=state.log_start_offset,
            recovery_point=old.recovery_point,
            progress=no_progress,
            checkers=None,
        )
        loaded = load(request)
        self.recovered, self.dropped = self.recovered + loaded.recovered, self.dropped + loaded.dropped
        state.adopt(loaded.parts)
        if self.is_sole_replica:
            state.update_high_watermark(self.log_end_offset)

    def _failed(self, action: str, error: OSError) -> KafkaStorageError:
        """What to raise after an I/O error; if the disk failed, the log is of no use from now on."""
        if not is_disk_failure(error):
            return KafkaStorageError(f"{self.folder}: cannot {action}: {error}")
        self.abandon(f"its disk failed: {error}")
        if self._on_failure is not None:
            self._on_failure(error)
        return KafkaStorageError(f"{self.folder}: cannot {action}, {self._failure}")


def _or_none(epoch: int | None) -> int:
    return NO_LEADER_EPOCH if epoch is None else epoch
