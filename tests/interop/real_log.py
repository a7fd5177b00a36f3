"""A partition log of real Kafka, and the state of its producers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from octavo.storage.producers.entry import CachedBatch, ProducerStateEntry

LOG = "org.apache.kafka.storage.internals.log"
HOUR_MS = 3_600_000
SEGMENT_BYTES = 1200


def unified_log(
    jvm: ModuleType,
    folder: Path,
    configs: dict[str, str],
    scheduler: Any,
    time: Any,
    *,
    clean: bool,
    log_start_offset: int = 0,
    recovery_point: int = 0,
) -> Any:
    """Kafka's UnifiedLog in a folder, as a broker opens it."""
    log, config = jvm.JPackage(LOG), jvm.java.util.HashMap()
    for name, value in configs.items():
        config.put(name, jvm.JString(value))
    return log.UnifiedLog.create(
        jvm.java.io.File(str(folder)),
        log.LogConfig(config),
        jvm.JLong(log_start_offset),
        jvm.JLong(recovery_point),
        scheduler,
        jvm.JClass("org.apache.kafka.storage.log.metrics.BrokerTopicStats")(False),
        time,
        jvm.JInt(HOUR_MS),
        log.ProducerStateManagerConfig(jvm.JInt(24 * HOUR_MS), False),
        jvm.JInt(HOUR_MS),
        log.LogDirFailureChannel(10),
        clean,
        jvm.java.util.Optional.empty(),
    )


class RealLog:
    """Kafka's UnifiedLog in a folder, with small segments and no verification of transactions."""

    def __init__(
        self, jvm: ModuleType, folder: Path, *, clean: bool = True, configs: dict[str, str] | None = None
    ) -> None:
        self._jvm = jvm
        self._log = jvm.JPackage(LOG)
        self._scheduler = jvm.JClass("org.apache.kafka.server.util.KafkaScheduler")(1)
        self._scheduler.startup()
        defaults = {"internal.segment.bytes": str(SEGMENT_BYTES), "retention.ms": "-1"}
        time = jvm.JClass("org.apache.kafka.common.utils.Time").SYSTEM
        self.log = unified_log(jvm, folder, {**defaults, **(configs or {})}, self._scheduler, time, clean=clean)

    def append(
        self, data: bytes, origin: str, transaction_version: int, leader_epoch: int = 0
    ) -> tuple[int, int] | str:
        """First and last offset, or the name of the exception."""
        buffer = self._jvm.java.nio.ByteBuffer.wrap(self._jvm.JArray.of(data, self._jvm.JByte))
        records = self._jvm.JClass("org.apache.kafka.common.record.internal.MemoryRecords").readableRecords(buffer)
        if origin == "REPLICATION":
            return self._outcome(lambda: self.log.appendAsFollower(records, leader_epoch))
        return self._outcome(
            lambda: self.log.appendAsLeader(
                records,
                leader_epoch,
                self._log.AppendOrigin.valueOf(origin),
                self._jvm.JClass("org.apache.kafka.server.common.RequestLocal").noCaching(),
                self._log.VerificationGuard.SENTINEL,
                self._jvm.JShort(transaction_version),
            )
        )

    def _outcome(self, append: Callable[[], Any]) -> tuple[int, int] | str:
        try:
            info = append()
        except self._jvm.JException as error:
            return str(error.getClass().getSimpleName())
        return int(info.firstOffset()), int(info.lastOffset())

    def producers(self) -> dict[int, ProducerStateEntry]:
        return entries_of(self.log.producerStateManager())

    def advance_log_start(self, offset: int) -> None:
        self.log.maybeIncrementLogStartOffset(offset, self._log.LogStartOffsetIncrementReason.ClientRecordDeletion)

    def first_unstable_offset(self) -> int | None:
        found = self.log.firstUnstableOffset()
        return int(found.get()) if found.isPresent() else None

    def close(self) -> None:
        self.log.close()
        self._scheduler.shutdown()


def entries_of(manager: Any) -> dict[int, ProducerStateEntry]:
    """The producers that Kafka's ProducerStateManager knows."""
    found = {}
    for entry in manager.activeProducers().values():
        first_offset = entry.currentTxnFirstOffset()
        ours = ProducerStateEntry(
            int(entry.producerId()),
            int(entry.producerEpoch()),
            int(entry.coordinatorEpoch()),
            int(entry.lastTimestamp()),
            int(first_offset.getAsLong()) if first_offset.isPresent() else None,
        )
        for batch in entry.batchMetadata():
            fields = batch.lastSeq(), batch.lastOffset(), batch.offsetDelta(), batch.timestamp()
            ours.batches.append(CachedBatch(*(int(field) for field in fields)))
        found[ours.producer_id] = ours
    return found
