"""Apache Kafka's log as a library: log directories read, written and explained byte for byte.

The public names are listed here and imported when first used, so that a bare `import octavo` loads none of the
heavy dependencies.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if sys.platform == "win32":
    raise ImportError("octavo runs on Linux and macOS; Windows is not supported")

if TYPE_CHECKING:
    from octavo.broker.broker import Broker
    from octavo.client.consumer.consumer import Consumer
    from octavo.client.log_dir import LogDir
    from octavo.client.producer.future import RecordFuture, RecordMetadata
    from octavo.client.producer.producer import Producer
    from octavo.client.producer.table import AppendedRecords
    from octavo.config.resolved import BrokerConfig, LogConfig
    from octavo.coordinator.groups.offsets import OffsetAndMetadata
    from octavo.errors import (
        AppendRejected,
        ConfigError,
        CorruptBatchError,
        CorruptionError,
        CorruptRecordError,
        DataLossError,
        DecompressionLimitError,
        DeliveryTimeoutError,
        EncodingError,
        IllegalStateError,
        InconsistentTopicIdError,
        InvalidBatchError,
        InvalidPartitionsError,
        InvalidProducerEpochError,
        InvalidRecordError,
        InvalidTimestampError,
        InvalidTopicError,
        InvalidTxnStateError,
        KafkaError,
        KafkaStorageError,
        LogDirError,
        LogDirLockedError,
        NoLogDirError,
        NoOffsetForPartitionError,
        NotRegularFileError,
        OctavoError,
        OffsetOutOfRangeError,
        OffsetsOutOfOrderError,
        OutOfOrderSequenceError,
        PolicyViolationError,
        ProducerFencedError,
        RecordBatchTooLargeError,
        RecordError,
        RecordsRejected,
        RecordTooLargeError,
        ScanError,
        StagedFileLostError,
        TopicExistsError,
        TransactionAbortedError,
        TransactionCoordinatorFencedError,
        TransactionIncompleteError,
        UnexpectedAppendOffsetError,
        UnforeseenBatchError,
        UnknownTopicOrPartitionError,
        UnsupportedCompressionTypeError,
    )
    from octavo.format.names import TopicPartition
    from octavo.format.record import Header, TimestampType
    from octavo.scanner.api import Scan, scan
    from octavo.scanner.findings import Note, ScanFindings
    from octavo.scanner.following.consumer import ScanConsumer
    from octavo.scanner.reading.arrow import read_tasks
    from octavo.scanner.reading.plan import ReadTask
    from octavo.scanner.reading.records import ConsumerRecord
    from octavo.storage.directory.open_logs import Loss
    from octavo.storage.log.retain import RetentionReason, Verdict

__version__ = "0.1.0"

__all__ = [
    "AppendRejected",
    "AppendedRecords",
    "Broker",
    "BrokerConfig",
    "ConfigError",
    "Consumer",
    "ConsumerRecord",
    "CorruptBatchError",
    "CorruptRecordError",
    "CorruptionError",
    "DataLossError",
    "DecompressionLimitError",
    "DeliveryTimeoutError",
    "EncodingError",
    "Header",
    "IllegalStateError",
    "InconsistentTopicIdError",
    "InvalidBatchError",
    "InvalidPartitionsError",
    "InvalidProducerEpochError",
    "InvalidRecordError",
    "InvalidTimestampError",
    "InvalidTopicError",
    "InvalidTxnStateError",
    "KafkaError",
    "KafkaStorageError",
    "LogConfig",
    "LogDir",
    "LogDirError",
    "LogDirLockedError",
    "Loss",
    "NoLogDirError",
    "NoOffsetForPartitionError",
    "NotRegularFileError",
    "Note",
    "OctavoError",
    "OffsetAndMetadata",
    "OffsetOutOfRangeError",
    "OffsetsOutOfOrderError",
    "OutOfOrderSequenceError",
    "PolicyViolationError",
    "Producer",
    "ProducerFencedError",
    "ReadTask",
    "RecordBatchTooLargeError",
    "RecordError",
    "RecordFuture",
    "RecordMetadata",
    "RecordTooLargeError",
    "RecordsRejected",
    "RetentionReason",
    "Scan",
    "ScanConsumer",
    "ScanError",
    "ScanFindings",
    "StagedFileLostError",
    "TimestampType",
    "TopicExistsError",
    "TopicPartition",
    "TransactionAbortedError",
    "TransactionCoordinatorFencedError",
    "TransactionIncompleteError",
    "UnexpectedAppendOffsetError",
    "UnforeseenBatchError",
    "UnknownTopicOrPartitionError",
    "UnsupportedCompressionTypeError",
    "Verdict",
    "__version__",
    "read_tasks",
    "scan",
]

# The modules of the public names that are neither errors nor defined here.
_HOMES = {
    "AppendedRecords": "octavo.client.producer.table",
    "Broker": "octavo.broker.broker",
    "BrokerConfig": "octavo.config.resolved",
    "Consumer": "octavo.client.consumer.consumer",
    "ConsumerRecord": "octavo.scanner.reading.records",
    "Header": "octavo.format.record",
    "LogConfig": "octavo.config.resolved",
    "LogDir": "octavo.client.log_dir",
    "Loss": "octavo.storage.directory.open_logs",
    "Note": "octavo.scanner.findings",
    "OffsetAndMetadata": "octavo.coordinator.groups.offsets",
    "Producer": "octavo.client.producer.producer",
    "ReadTask": "octavo.scanner.reading.plan",
    "RecordFuture": "octavo.client.producer.future",
    "RecordMetadata": "octavo.client.producer.future",
    "RetentionReason": "octavo.storage.log.retain",
    "Scan": "octavo.scanner.api",
    "ScanConsumer": "octavo.scanner.following.consumer",
    "ScanFindings": "octavo.scanner.findings",
    "TimestampType": "octavo.format.record",
    "TopicPartition": "octavo.format.names",
    "Verdict": "octavo.storage.log.retain",
    "read_tasks": "octavo.scanner.reading.arrow",
    "scan": "octavo.scanner.api",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'octavo' has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES.get(name, "octavo.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})
