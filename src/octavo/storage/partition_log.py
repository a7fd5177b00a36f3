"""A partition's log as its owner uses it: append, read, find, retain, truncate, flush, close."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from octavo.errors import InconsistentTopicIdError, KafkaStorageError, OffsetOutOfRangeError, PolicyViolationError
from octavo.format import kafka_uuid
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.format.names import PARTITION_METADATA
from octavo.format.record import SpecialTimestamp
from octavo.format.small_files import partition_metadata
from octavo.format.small_files.partition_metadata import PartitionMetadata
from octavo.kernels.integers import INT32_MAX
from octavo.storage.append.append import AppendResult, append
from octavo.storage.append_origin import AppendOrigin, AppendRequest
from octavo.storage.files.small_file import replace_file
from octavo.storage.log import lookup, read, shorten
from octavo.storage.log.epochs import EpochEnd
from octavo.storage.log.flush import flush
from octavo.storage.log.log import Log
from octavo.storage.log.lookup import FoundOffset
from octavo.storage.log.read import Fetched, Isolation, ReadRequest
from octavo.storage.log.retain import Verdict
from octavo.storage.log.roll import roll
from octavo.storage.producers.entry import ProducerStateEntry
from octavo.storage.recovery.load import LoadRequest, load
from octavo.storage.recovery.recover import no_progress
from octavo.storage.segment.delete import remove_folder
from octavo.storage.segment.segment import Segment
from octavo.storage.segment.swap import swap
from octavo.system.forks import FORKED

if TYPE_CHECKING:
    from typing_extensions import Buffer

_Result = TypeVar("_Result")

_CLOSED = "it is closed"
_log = logging.getLogger(__name__)

# DeleteRecords with this offset deletes up to the high watermark.
TO_HIGH_WATERMARK = -1


class PartitionLog(Log):
    """Thread-safe. Changes take turns; readers seldom wait for them.

    With `is_sole_replica`, each append raises the high watermark to the log's end.
    """

    def __init__(
        self, request: LoadRequest, *, is_sole_replica: bool = True, on_failure: Callable[[OSError], None] | None = None
    ) -> None:
        loaded = load(request)
        super().__init__(
            request.folder,
            request.config,
            request.environment,
            loaded.parts,
            is_sole_replica=is_sole_replica,
            on_failure=on_failure,
        )
        self.recovered, self.dropped, self.deleted_files = loaded.recovered, loaded.dropped, loaded.deleted_files
        self.flushed_up_to = request.flushed_up_to  # before it was opened, as its checkpoint said
        self._request = request
        self._filesystem = request.environment.filesystem
        self.topic_id = loaded.topic_id

    @property
    def leader_epoch(self) -> int:
        """The largest leader epoch so far, for appends as the leader; 0 if there was none."""
        return self.epochs.leader_epoch

    def end_offset_for_epoch(self, epoch: int) -> EpochEnd:
        """Where a leader epoch ended, as answered by OffsetForLeaderEpoch; -1 and -1 if unknown."""
        return self.epochs.end_offset_for(epoch, self.log_end_offset) or EpochEnd(-1, -1)

    def producer_entries(self) -> list[ProducerStateEntry]:
        """What the log knows about each of its producers."""
        with self.lock:
            return list(self.producers.table)

    def producer(self, producer_id: int) -> ProducerStateEntry | None:
        """What the log knows about a producer; None if nothing."""
        with self.lock:
            return self.producers.table.get(producer_id)

    def append_as_leader(
        self,
        data: Buffer,
        *,
        leader_epoch: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        transaction_version: int | None = None,
        trusted: bool = False,
    ) -> AppendResult:
        """Append batches and assign the log's next offsets to them. A writable buffer may be changed in place."""
        return append(self, data, AppendRequest(origin, leader_epoch, transaction_version, trusted))

    def append_as_follower(self, data: Buffer, *, leader_epoch: int = INT32_MAX) -> AppendResult:
        """Append batches that keep their offsets; those from the first one of a later leader epoch on are left out."""
        return append(self, data, AppendRequest(AppendOrigin.REPLICATION, leader_epoch))

    def read(
        self,
        start_offset: int,
        max_bytes: int,
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
        *,
        min_one_batch: bool = True,
    ) -> Fetched:
        """The batches from the one that holds the offset, or the next one, as a file range; OffsetOutOfRangeError
        outside the log."""
        return self._reading(lambda: self._read(ReadRequest(start_offset, max_bytes, min_one_batch), isolation))

    def fetch(self, start_offset: int, max_bytes: int, isolation: Isolation) -> tuple[Fetched, bytes]:
        """Like `read`, but also returns the bytes."""

        def read_bytes() -> tuple[Fetched, bytes]:
            found = self._read(ReadRequest(start_offset, max_bytes), isolation)
            return found, found.read()

        return self._reading(read_bytes)

    def _read(self, request: ReadRequest, isolation: Isolation) -> Fetched:
        committed = isolation is Isolation.READ_COMMITTED
        return read.read(self.segments, self.limits(isolation), request, with_aborted=committed)

    def aborted_transactions(self, start_offset: int, upper_bound_offset: int) -> Sequence[AbortedTxn]:
        """The aborted transactions that overlap the offsets from the start up to (excluding) the upper bound."""
        return self._reading(lambda: read.aborted_transactions(self.segments, start_offset, upper_bound_offset))

    def offset_for_timestamp(self, timestamp: int, isolation: Isolation = Isolation.READ_UNCOMMITTED) -> FoundOffset:
        """The answer to ListOffsets for a timestamp or a `SpecialTimestamp`."""
        if timestamp < 0 and timestamp != SpecialTimestamp.MAX_TIMESTAMP:
            return lookup.special_offset(self, timestamp, isolation)
        return self._reading(lambda: lookup.searched_offset(self, timestamp, isolation))

    def retain(self, *, dry_run: bool = False) -> list[Verdict]:
        """Run one round of retention: drop the segments past a limit; returns what happens to each segment and why.

        With `dry_run` nothing is dropped.
        """
        with self.changing("retain"):
            return shorten.retention_round(self, dry_run=dry_run)

    def delete_records(self, offset: int) -> int:
        """Raise the log start to an offset (-1: the high watermark) and return it. Retention removes the files."""
        with self.changing("delete records"):
            if "compact" in self.config.cleanup_policy and "delete" not in self.config.cleanup_policy:
                policy = ",".join(self.config.cleanup_policy)
                raise PolicyViolationError(
                    f"{self.folder.name}: cleanup.policy is {policy}; records can be deleted only if it contains delete"
                )
            target = self.high_watermark if offset == TO_HIGH_WATERMARK else offset
            if not 0 <= target <= self.high_watermark:
                raise OffsetOutOfRangeError(target, self.log_start_offset, self.high_watermark)
            shorten.advance_log_start(self, target)
            return self.log_start_offset

    def truncate_to(self, offset: int) -> bool:
        """Drop every batch that holds the offset or comes after it; returns whether the log changed."""
        with self.changing("truncate"):
            return shorten.truncate_to(self, offset)

    def truncate_fully(self, offset: int, log_start_offset: int | None = None) -> None:
        """Drop everything and start again at the offset."""
        with self.changing("truncate"):
            shorten.truncate_fully(self, offset, log_start_offset)

    def replace_segments(self, old: Sequence[Segment], new: Sequence[Segment]) -> None:
        """Replace segments with others that were written next to them (as `.cleaned`), all or none."""
        with self.changing("replace segments"):
            swap(self.segments, old, new, self.deleter, self.config.file_delete_delay_ms)
            taken = {segment.base_offset for segment in new}
            shorten.delete_snapshots(self, [segment for segment in old if segment.base_offset not in taken])
            self.update_high_watermark(self.high_watermark)  # its position may have changed

    def roll(self) -> None:
        """Begin a new segment at the log's end."""
        with self.changing("roll"):
            roll(self, self.log_end_offset)

    def flush(self) -> None:
        """Sync the log to disk: afterwards no crash or power loss can lose what it holds now."""
        with self.usable("flush"):
            flush(self, self.log_end_offset)

    def remove_expired_producers(self) -> None:
        """Forget the producers that have been idle for producer.id.expiration.ms, unless they are in a transaction."""
        with self.changing("expire producers"):
            self.producers.remove_expired(self.environment.clock.time_ms())

    def check_topic_id(self, topic_id: bytes) -> None:
        """Raise InconsistentTopicIdError if the log has another topic's id."""
        if self.topic_id is not None and self.topic_id != topic_id:
            found, expected = kafka_uuid.to_text(self.topic_id), kafka_uuid.to_text(topic_id)
            problem = f"its topic id is {found}, expected {expected}: another topic had the same name"
            advice = "use another log directory, or move this folder away"
            raise InconsistentTopicIdError(f"{self.folder}: {problem}; {advice}")

    def set_topic_id(self, topic_id: bytes) -> None:
        """Write partition.metadata unless it already has this id; InconsistentTopicIdError if it has another one."""
        with self.usable("write partition.metadata"):
            self.check_topic_id(topic_id)
            if self.topic_id is None:
                content = partition_metadata.encode(PartitionMetadata(topic_id))
                replace_file(self._filesystem, self.folder / PARTITION_METADATA, content)
                self.topic_id = topic_id

    def close(self) -> None:
        """Leave the folder as after a clean stop; the log cannot be used afterwards.

        1. Write a snapshot of the producers at the log's end. 2. Write the closing time index entry and trim the files
        of the active segment. 3. Flush. A log that was loaded clean and never changed needs no work; in a large
        directory that is most of them.
        """
        if self.closed_because == _CLOSED:
            return
        with self.changing("close"):
            end = self.log_end_offset
            self.producers.map_end_offset = end
            snapshot = self.producers.write_snapshot()
            if self.is_changed or snapshot is not None:
                self.segments.active.close_out()
                flush(self, end, with_empty_active=True, in_change=True)
            self.abandon(_CLOSED)

    def rename_for_deletion(self, name: str) -> None:
        """Rename the folder before it is deleted; afterwards only `delete` can be called.

        The caller syncs the parent; after a crash before that, the folder may have either name.
        """
        with self.changing("rename"):
            folder = self.folder.with_name(name)
            self._filesystem.rename(self.folder, folder)
            self.folder = folder
            self.abandon("it was deleted")

    def delete(self) -> None:
        """Remove the folder, as `remove_folder` does. The log cannot be used afterwards."""
        with self.lock, self.noting_failure("delete"):
            self.abandon("it was deleted")
            remove_folder(self._filesystem, self.folder)

    def disown(self) -> None:
        """In a forked child: refuse any use. The lock is replaced, since a thread of the parent may have held it."""
        self.closed_because = FORKED
        self.lock = threading.RLock()

    def _reading(self, read_once: Callable[[], _Result]) -> _Result:
        """Read; if a file is removed before it can be opened, read again under the lock, which prevents that."""
        if self.closed_because is None:
            try:
                return read_once()
            except FileNotFoundError:
                pass
            except OSError as error:
                raise self.failed("read", error) from error
        with self.usable("read"), self.lock:
            self.make_certain("read")
            return read_once()

    def reload(self) -> None:
        """Load the log again after an interrupted change; the lock is held."""
        if not self._filesystem.exists(self.folder):
            self.abandon("its folder is gone")
            raise KafkaStorageError(f"{self.folder}: cannot load it again: {self.closed_because}")
        _log.warning("%s: a change was interrupted; loading the log again", self.folder)
        for segment in self.segments:
            segment.files.retire()
        request = replace(
            self._request,
            folder=self.folder,
            config=self.config,
            clean=False,
            log_start_offset=self.log_start_offset,
            recovery_point=self.recovery_point,
            progress=no_progress,
            checkers=None,
        )
        loaded = load(request)
        self.recovered, self.dropped = self.recovered + loaded.recovered, self.dropped + loaded.dropped
        self.cuts += 1  # a flush in progress may have synced files that have been rewritten since
        self.adopt(loaded.parts)
