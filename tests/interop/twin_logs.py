"""The same partition twice: Kafka's UnifiedLog and Octavo's, with one clock, each in its own folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from octavo.config import LogConfig
from octavo.errors import KafkaError
from octavo.format.batches.walker import walk
from octavo.format.small_files import producer_snapshot
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.log import lookup
from octavo.storage.log.read import Isolation
from octavo.storage.partition_log import PartitionLog
from octavo.storage.producers.entry import ProducerStateEntry
from octavo.storage.recovery.load import LoadRequest
from tests.interop.real_log import LOG, entries_of, unified_log
from tests.storage.worlds import World

State = dict[str, Any]
Appended = tuple[int, int, int]  # first and last offset, log append time
ISOLATIONS = {
    Isolation.LOG_END: "LOG_END",
    Isolation.READ_UNCOMMITTED: "HIGH_WATERMARK",
    Isolation.READ_COMMITTED: "TXN_COMMITTED",
}


class _Time:
    """The methods of Kafka's Time that a log uses."""

    def __init__(self, world: World) -> None:
        self._world = world

    def milliseconds(self) -> int:
        return self._world.clock.time_ms()

    def hiResClockMs(self) -> int:
        return self._world.clock.time_ms()

    def nanoseconds(self) -> int:
        return self._world.clock.time_ms() * 1_000_000


class _Scheduler:
    """Kafka's Scheduler: immediate tasks run at once, all others never."""

    def __init__(self, jvm: ModuleType) -> None:
        self._task = jvm.JProxy("java.util.concurrent.ScheduledFuture", dict={"cancel": lambda interrupts: True})

    def scheduleOnce(self, name: Any, task: Any, delay_ms: int = 0) -> Any:
        if delay_ms <= 0:
            task.run()
        return self._task

    def schedule(self, name: Any, task: Any, delay_ms: int, period_ms: int) -> Any:
        return self._task if period_ms >= 0 else self.scheduleOnce(name, task, delay_ms)


class Twins:
    """Each method does the same to both logs and compares the answers; `check` compares their content."""

    def __init__(self, jvm: ModuleType, root: Path, configs: dict[str, str], world: World) -> None:
        self._jvm = jvm
        self._configs = configs
        self._log: Any = jvm.JPackage(LOG)
        self.world = world
        self.our_folder, self.their_folder = root / "ours" / "t-0", root / "theirs" / "t-0"
        self.their_folder.mkdir(parents=True)
        self._time = jvm.JProxy("org.apache.kafka.common.utils.Time", inst=_Time(world))
        self._scheduler = jvm.JProxy("org.apache.kafka.server.util.Scheduler", inst=_Scheduler(jvm))
        self.open(clean=True, log_start_offset=0, recovery_point=0)

    def open(self, *, clean: bool, log_start_offset: int, recovery_point: int) -> None:
        self.theirs = unified_log(
            self._jvm,
            self.their_folder,
            self._configs,
            self._scheduler,
            self._time,
            clean=clean,
            log_start_offset=log_start_offset,
            recovery_point=recovery_point,
        )
        request = LoadRequest(
            folder=self.our_folder,
            config=LogConfig.of(self._configs),
            environment=self.world.environment,
            clean=clean,
            log_start_offset=log_start_offset,
            recovery_point=recovery_point,
        )
        self.ours = PartitionLog(request, is_sole_replica=False)

    def append(
        self, data: bytes, origin: AppendOrigin, *, leader_epoch: int, transaction_version: int = 0
    ) -> Appended | str:
        jvm = self._jvm
        buffer = jvm.java.nio.ByteBuffer.wrap(jvm.JArray.of(data, jvm.JByte))
        records = jvm.JClass("org.apache.kafka.common.record.internal.MemoryRecords").readableRecords(buffer)
        if origin is AppendOrigin.REPLICATION:
            real = self._theirs(lambda: self.theirs.appendAsFollower(records, leader_epoch))
            mine = self._ours(lambda: self.ours.append_as_follower(data, leader_epoch=leader_epoch))
        else:
            real = self._theirs(
                lambda: self.theirs.appendAsLeader(
                    records,
                    leader_epoch,
                    self._log.AppendOrigin.valueOf(origin.name),
                    jvm.JClass("org.apache.kafka.server.common.RequestLocal").noCaching(),
                    self._log.VerificationGuard.SENTINEL,
                    jvm.JShort(transaction_version),
                )
            )
            mine = self._ours(
                lambda: self.ours.append_as_leader(
                    data, leader_epoch=leader_epoch, origin=origin, transaction_version=transaction_version
                )
            )
        assert mine == real, f"ours {mine}, Kafka's {real}"
        return mine

    def _theirs(self, append: Callable[[], Any]) -> Appended | str:
        try:
            info = append()
        except self._jvm.JException as error:
            kind = error.getClass()
            if kind.getSimpleName() == "RecordValidationException":
                kind = error.invalidException().getClass()
            return str(kind.getSimpleName())
        first, last, time_ms = int(info.firstOffset()), int(info.lastOffset()), int(info.logAppendTime())
        # a follower does not know the first offset of old formats
        return (first if first >= 0 else last), last, time_ms

    def _ours(self, append: Callable[[], Any]) -> Appended | str:
        try:
            result = append()
        except KafkaError as error:
            return error.kafka_name
        return result.first_offset, result.last_offset, result.log_append_time

    def update_high_watermark(self, offset: int) -> None:
        self.theirs.updateHighWatermark(self._jvm.JLong(offset))
        self.ours.update_high_watermark(offset)

    def advance_log_start(self, offset: int) -> None:
        reason = self._log.LogStartOffsetIncrementReason.ClientRecordDeletion
        self.theirs.maybeIncrementLogStartOffset(offset, reason)
        self.ours.delete_records(offset)

    def retain(self) -> None:
        self.theirs.deleteOldSegments()
        self.ours.retain()

    def roll(self) -> None:
        self.theirs.roll()
        self.ours.roll()

    def flush(self) -> None:
        self.theirs.flush(False)
        self.ours.flush()

    def truncate(self, offset: int) -> None:
        for segment in self.theirs.logSegments():
            segment.maxTimestampSoFar()  # otherwise Kafka may forget it, and then reads it from the cut time index
        assert self.ours.truncate_to(offset) == bool(self.theirs.truncateTo(offset))
        # Only with the next change of the watermark does Kafka notice that other transactions are ongoing now.
        self.update_high_watermark(self.ours.high_watermark)

    def truncate_fully(self, offset: int) -> None:
        self.theirs.truncateFullyAndStartAt(offset, self._jvm.java.util.Optional.empty())
        self.ours.truncate_fully(offset)

    def expire_producers(self) -> None:
        self.theirs.removeExpiredProducers(self.world.clock.time_ms())
        self.ours.remove_expired_producers()

    def restart(self, *, clean: bool, damage: Callable[[Path], None] = lambda folder: None) -> None:
        """Close both logs, or abandon them as a crash does; damage both alike; open them as checkpoints would say."""
        start, recovery_point = self.ours.log_start_offset, self.ours.recovery_point
        if clean:
            self.theirs.flush(True)
            self.theirs.close()
            self.ours.close()
            assert files(self.our_folder, trimmed=True) == files(self.their_folder, trimmed=True)
        else:
            self.theirs.closeHandlers()
            self.ours.abandon("it is left as it is")
        for folder in (self.our_folder, self.their_folder):
            damage(folder)
        self.open(clean=clean, log_start_offset=start, recovery_point=recovery_point)

    def read(self, offset: int, max_bytes: int, isolation: Isolation, *, min_one_batch: bool) -> None:
        level = self._jvm.JClass("org.apache.kafka.server.storage.log.FetchIsolation").valueOf(ISOLATIONS[isolation])
        named: set[tuple[int, int]] = set()
        try:
            info = self.theirs.read(offset, max_bytes, level, min_one_batch)
        except self._jvm.JException as error:
            real: Any = str(error.getClass().getSimpleName())
        else:
            at, aborted = info.fetchOffsetMetadata, info.abortedTransactions
            real = (
                (int(at.messageOffset), int(at.segmentBaseOffset), int(at.relativePositionInSegment)),
                int(info.records.sizeInBytes()),
                bool(info.firstEntryIncomplete),
            )
            listed = aborted.get() if aborted.isPresent() else []
            named = {(int(one.producerId()), int(one.firstOffset())) for one in listed}
        try:
            found = self.ours.read(offset, max_bytes, isolation, min_one_batch=min_one_batch)
        except KafkaError as error:
            mine: Any = error.kafka_name
        else:
            mine = tuple(found.start), found.size, found.first_batch_incomplete
            # If a read ends at an index entry, Kafka sometimes names transactions up to the next entry too.
            read = walk(found.read()).table
            last_offset = int(read[-1]["base_offset"] + read[-1]["last_offset_delta"]) if len(read) else offset
            unneeded = {txn for txn in named - set(found.aborted) if txn[1] > last_offset}
            assert named - unneeded == set(found.aborted), f"{isolation} from {offset}"
        assert mine == real, f"{isolation} from {offset}: ours {mine}, Kafka's {real}"

    def look_up(self, timestamp: int) -> None:
        """Look up a time, or with -3 the record with the largest one, regardless of isolation levels."""
        found = self.theirs.fetchOffsetByTimestamp(timestamp, self._jvm.java.util.Optional.empty())
        answer = found.timestampAndOffsetOpt()
        real = (int(answer.get().timestamp), int(answer.get().offset)) if answer.isPresent() else None
        segments, start = self.ours.segments, self.ours.log_start_offset
        mine = lookup.of_max_timestamp(segments) if timestamp < 0 else lookup.by_timestamp(segments, timestamp, start)
        assert (None if mine is None else (mine.timestamp, mine.offset)) == real, f"ours {mine}, Kafka's {real}"

    def check(self) -> None:
        self.world.scheduler.run_due()
        assert our_state(self.ours) == their_state(self.theirs)
        assert files(self.our_folder) == files(self.their_folder)


def our_state(log: PartitionLog) -> State:
    """Our state in Kafka's terms. If the log starts among unstable records, the first unstable offset is the start for
    us; for Kafka it is the base offset of the batch there, which may be before the start, or after it."""
    start, unstable = log.log_start_offset, log.first_unstable_offset
    if unstable == start:
        unstable = max(log.locate(start).offset, start)
    stable = log.high_watermark if unstable is None else min(unstable, log.high_watermark)
    return {
        "log start": start,
        "log end": log.log_end_offset,
        "high watermark": log.high_watermark,
        "last stable offset": max(stable, start),
        "first unstable offset": unstable,
        "recovery point": log.recovery_point,
        "segments": list(log.segments.base_offsets),
        "epochs": [tuple(entry) for entry in log.epochs.entries],
        "producers": {entry.producer_id: entry for entry in log.producers.table},
    }


def their_state(log: Any) -> State:
    start, unstable = int(log.logStartOffset()), log.firstUnstableOffset()
    producers: dict[int, ProducerStateEntry] = entries_of(log.producerStateManager())
    return {
        "log start": start,
        "log end": int(log.logEndOffset()),
        "high watermark": int(log.highWatermark()),
        "last stable offset": max(int(log.lastStableOffset()), start),
        "first unstable offset": max(int(unstable.get()), start) if unstable.isPresent() else None,
        "recovery point": int(log.recoveryPoint()),
        "segments": [int(segment.baseOffset()) for segment in log.logSegments()],
        "epochs": [(int(entry.epoch()), int(entry.startOffset())) for entry in log.leaderEpochCache().epochEntries()],
        "producers": producers,
    }


def files(folder: Path, *, trimmed: bool = False) -> dict[str, Any]:
    """What the files say. The last segment's indexes count only once they are trimmed: until then, Kafka leaves in them
    what was cut off."""
    found: dict[str, Any] = {}
    paths = sorted(folder.iterdir())
    active = max(path.stem for path in paths if path.suffix == ".log")
    for path in paths:
        data = path.read_bytes()
        if path.suffix == ".snapshot":
            found[path.name] = sorted(producer_snapshot.decode(data))
        elif path.suffix in (".index", ".timeindex") and path.stem == active and not trimmed:
            continue
        elif path.suffix in (".log", ".index", ".timeindex", ".txnindex") and data:
            found[path.name] = data
    return found
