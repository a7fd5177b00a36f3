"""Kafka's own LogValidator, called in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from octavo.format.compression import CODECS
from tests.storage.produced_sets import NOW
from tests.storage.validation_case import FIRST_OFFSET, LEADER_EPOCH, Answer, Case

LOG = "org.apache.kafka.storage.internals.log"
INTERNAL = "org.apache.kafka.common.record.internal"
RECORDED = ["InvalidMagic", "InvalidOffset", "InvalidSequence", "InvalidChecksums", "NoKeyCompactedTopic"]


class RealValidator:
    """Validation of sets as a leader does it, for topics with any configs."""

    def __init__(self, jvm: ModuleType) -> None:
        self._jvm = jvm
        self._log = jvm.JPackage(LOG)
        self._internal = jvm.JPackage(INTERNAL)
        self._common = jvm.JPackage("org.apache.kafka.common")
        self._recorder = jvm.JProxy(
            jvm.JClass(f"{LOG}.LogValidator$MetricsRecorder"),
            dict={f"record{what}": lambda: None for what in RECORDED},
        )

    def validate(self, case: Case) -> Answer:
        jvm, config = self._jvm, self._config(case.configs)
        source = self._internal.CompressionType.forName(jvm.JString(CODECS[case.source_codec].name))
        validator = self._log.LogValidator(
            self._internal.MemoryRecords.readableRecords(self._buffer(case.data)),
            self._common.TopicPartition("topic", 0),
            jvm.JProxy(self._common.utils.Time, dict={"milliseconds": lambda: NOW, "nanoseconds": lambda: 0}),
            source,
            jvm.JClass("org.apache.kafka.server.record.BrokerCompressionType").targetCompression(
                config.compression, source
            ),
            config.compact,
            jvm.JByte(2),
            config.messageTimestampType,
            config.messageTimestampBeforeMaxMs,
            config.messageTimestampAfterMaxMs,
            jvm.JInt(LEADER_EPOCH),
            self._log.AppendOrigin.valueOf(case.origin.name),
        )
        counter = jvm.JClass("org.apache.kafka.common.utils.PrimitiveRef").ofLong(jvm.JLong(FIRST_OFFSET))
        try:
            result = validator.validateMessagesAndAssignOffsets(
                counter, self._recorder, self._common.utils.BufferSupplier.NO_CACHING
            )
        except jvm.JException as error:
            return self._refusal(error)
        return Answer(
            None,
            (),
            self._bytes(result.validatedRecords().buffer()),
            int(result.maxTimestampMs()),
            int(counter.value),
            bool(result.messageSizeMaybeChanged()),
        )

    def _refusal(self, error: Any) -> Answer:
        if str(error.getClass().getSimpleName()) != "RecordValidationException":
            return Answer(str(error.getClass().getSimpleName()))
        blamed: Sequence[Any] = error.recordErrors()
        name = error.invalidException().getClass().getSimpleName()
        return Answer(str(name), tuple(int(record.batchIndex) for record in blamed))

    def _config(self, configs: Mapping[str, str]) -> Any:
        properties = self._jvm.java.util.HashMap()
        for name, value in configs.items():
            properties.put(name, self._jvm.JString(value))
        return self._log.LogConfig(properties)

    def _buffer(self, data: bytes) -> Any:
        return self._jvm.java.nio.ByteBuffer.wrap(self._jvm.JArray.of(data, self._jvm.JByte))

    def _bytes(self, buffer: Any) -> bytes:
        array = self._jvm.JArray.of(bytes(buffer.remaining()), self._jvm.JByte)
        buffer.duplicate().get(array)
        return bytes(array)
