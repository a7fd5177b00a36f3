"""A partition log of real Kafka, as far as the state of its producers goes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from octavo.storage.producers.entry import CachedBatch, ProducerStateEntry

LOG = "org.apache.kafka.storage.internals.log"
HOUR_MS = 3_600_000
SEGMENT_BYTES = 1200


class RealLog:
    """Kafka's UnifiedLog in a folder, with small segments and no verification of transactions."""

    def __init__(
        self, jvm: ModuleType, folder: Path, *, clean: bool = True, configs: dict[str, str] | None = None
    ) -> None:
        self._jvm = jvm
        self._log = jvm.JPackage(LOG)
        self._scheduler = jvm.JClass("org.apache.kafka.server.util.KafkaScheduler")(1)
        self._scheduler.startup()
        config = jvm.java.util.HashMap()
        for name, value in {
            "internal.segment.bytes": str(SEGMENT_BYTES),
            "retention.ms": "-1",
            **(configs or {}),
        }.items():
            config.put(name, jvm.JString(value))
        self.log = self._log.UnifiedLog.create(
            jvm.java.io.File(str(folder)),
            self._log.LogConfig(config),
            jvm.JLong(0),
            jvm.JLong(0),
            self._scheduler,
            jvm.JClass("org.apache.kafka.storage.log.metrics.BrokerTopicStats")(False),
            jvm.JClass("org.apache.kafka.common.utils.Time").SYSTEM,
            jvm.JInt(HOUR_MS),
            self._log.ProducerStateManagerConfig(jvm.JInt(24 * HOUR_MS), False),
            jvm.JInt(HOUR_MS),
            self._log.LogDirFailureChannel(10),
            clean,
            jvm.java.util.Optional.empty(),
        )

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
