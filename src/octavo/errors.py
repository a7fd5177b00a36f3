"""The errors that Octavo raises on purpose, under one root; Kafka's names and codes for them are in the class lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, NamedTuple


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest known one, or nothing if none is near."""
    from difflib import get_close_matches  # takes some ms to load

    spellings = {other.lower(): other for other in known}
    near = get_close_matches(name.lower(), spellings, 1)
    return f" (did you mean {spellings[near[0]]}?)" if near else ""


class OctavoError(Exception):
    """The root: `except OctavoError` catches whatever this library raises on purpose."""


class CorruptionError(OctavoError):
    """Bytes that are not what Kafka writes.

    Every decoder accepts its input or raises this error. `position` is the byte where the problem was seen,
    counted from the start of the buffer that the decoder was given (or of the file, once `path` is set).
    """

    def __init__(self, problem: str, *, position: int | None = None, path: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.position = position
        self.path = path

    def at(self, *, position: int | None = None, path: str | None = None) -> CorruptionError:
        """The same error with its place, as an outer layer knows it."""
        self.position = self.position if position is None else position
        self.path = self.path if path is None else path
        return self

    def __str__(self) -> str:
        place = [f"position {self.position}"] if self.position is not None else []
        place = [self.path, *place] if self.path is not None else place
        return f"{', '.join(place)}: {self.problem}" if place else self.problem


class NotRegularFileError(CorruptionError):
    """What bears the name of a file and is a link, a folder, a FIFO, a socket or a device: it is left as it is."""


class CorruptRecordError(CorruptionError):
    """A batch or message whose length or checksum is wrong (Kafka's CorruptRecordException)."""


class InvalidRecordError(CorruptionError):
    """A batch whose checksum may be right but whose records break the format (Kafka's InvalidRecordException)."""


class DecompressionLimitError(CorruptionError):
    """A compressed batch that would unpack to more bytes than the caller allows."""


class EncodingError(OctavoError, ValueError):
    """Values that the format cannot hold: nothing was written."""


class UnsupportedCompressionTypeError(EncodingError):
    """A codec that the wanted magic does not know (Kafka's UnsupportedCompressionTypeException)."""


class ScanError(OctavoError):
    """What was asked for cannot be read: no such place, topic or partition, or it went away while it was read."""


class DataLossError(ScanError):
    """Records that a query has yet to read are gone from the log: it would go on without them."""


class ConfigError(OctavoError, ValueError):
    """A config that Kafka does not know, or a value that it may not have."""


class KafkaError(OctavoError):
    """What Kafka answers with an error of its own: its exception `kafka_name`, on the wire `error` and `code`."""

    kafka_name: ClassVar[str] = "UnknownServerException"
    error: ClassVar[str] = "UNKNOWN_SERVER_ERROR"
    code: ClassVar[int] = -1

    def __init_subclass__(cls, kafka_name: str = "", error: str = "", code: int | None = None) -> None:
        super().__init_subclass__()
        cls.kafka_name = kafka_name or cls.kafka_name
        cls.error = error or cls.error
        cls.code = cls.code if code is None else code


class OffsetOutOfRangeError(KafkaError, kafka_name="OffsetOutOfRangeException", error="OFFSET_OUT_OF_RANGE", code=1):
    """An offset that a log does not have; carries the range that it has."""

    def __init__(self, offset: int, log_start_offset: int, log_end_offset: int) -> None:
        super().__init__(offset, log_start_offset, log_end_offset)
        self.offset = offset
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset

    def __str__(self) -> str:
        return f"offset {self.offset}, expected {self.log_start_offset} to {self.log_end_offset}"


class PolicyViolationError(KafkaError, kafka_name="PolicyViolationException", error="POLICY_VIOLATION", code=44):
    """A request that the topic's configs forbid, such as deleting records where cleanup.policy has no delete."""


class KafkaStorageError(KafkaError, kafka_name="KafkaStorageException", error="KAFKA_STORAGE_ERROR", code=56):
    """A log whose directory went offline when its disk failed."""


class TransactionIncompleteError(KafkaStorageError):
    """A transaction that is decided, but has not all of its markers yet: it is completed as soon as that is possible.

    Until then nothing else can be done under its transactional id.
    """


class LogDirError(OctavoError):
    """A log directory that cannot be used: locked by another process, no directory, or of another broker."""


class LogDirLockedError(LogDirError):
    """A log directory that another process has opened, or this one, to write to it."""


class StagedFileLostError(LogDirError):
    """A staged file of a commit that was decided is not there any more, or damaged."""


class InvalidTopicError(KafkaError, kafka_name="InvalidTopicException", error="INVALID_TOPIC_EXCEPTION", code=17):
    """A name that no topic may have."""


class TopicExistsError(KafkaError, kafka_name="TopicExistsException", error="TOPIC_ALREADY_EXISTS", code=36):
    """A topic to be created that is there already."""


class InvalidPartitionsError(KafkaError, kafka_name="InvalidPartitionsException", error="INVALID_PARTITIONS", code=37):
    """A number of partitions that a topic cannot have, or cannot get any more."""


class UnknownTopicOrPartitionError(
    KafkaError, kafka_name="UnknownTopicOrPartitionException", error="UNKNOWN_TOPIC_OR_PARTITION", code=3
):
    """A topic or a partition that is not there."""


class InconsistentTopicIdError(
    KafkaError, kafka_name="InconsistentTopicIdException", error="INCONSISTENT_TOPIC_ID", code=103
):
    """A partition of another topic with the same name: its topic id is not the expected one."""


class AppendRejected(KafkaError):
    """Batches that Kafka would not append either, for a reason that its clients know: nothing was written."""


class RecordError(NamedTuple):
    """What is wrong with one record of a rejected batch."""

    batch_index: int  # the record's place in its batch
    problem: str


class RecordsRejected(AppendRejected):
    """Rejected for what its records say; `record_errors` has each one that is at fault, where single ones are."""

    def __init__(self, problem: str, record_errors: tuple[RecordError, ...] = ()) -> None:
        super().__init__(problem)
        self.record_errors = record_errors


class InvalidBatchError(RecordsRejected, kafka_name="InvalidRecordException", error="INVALID_RECORD", code=87):
    """A batch that breaks a rule of the format or of the topic."""


class InvalidTimestampError(
    RecordsRejected, kafka_name="InvalidTimestampException", error="INVALID_TIMESTAMP", code=32
):
    """Records beyond the topic's limits of time, or a producer's batch that claims LogAppendTime.

    Its `record_errors` has the records with other faults too.
    """


class CorruptBatchError(AppendRejected, kafka_name="CorruptRecordException", error="CORRUPT_MESSAGE", code=2):
    """A batch whose length, magic or checksum is wrong."""


class RecordTooLargeError(AppendRejected, kafka_name="RecordTooLargeException", error="MESSAGE_TOO_LARGE", code=10):
    """A batch of more than max.message.bytes."""


class RecordBatchTooLargeError(
    AppendRejected, kafka_name="RecordBatchTooLargeException", error="RECORD_LIST_TOO_LARGE", code=18
):
    """A set of batches that is larger than a segment may be."""


class OutOfOrderSequenceError(
    AppendRejected, kafka_name="OutOfOrderSequenceException", error="OUT_OF_ORDER_SEQUENCE_NUMBER", code=45
):
    """A producer's batch that does not follow its last one."""


class InvalidProducerEpochError(
    AppendRejected, kafka_name="InvalidProducerEpochException", error="INVALID_PRODUCER_EPOCH", code=47
):
    """A batch or marker of an epoch that the producer has left behind."""


class InvalidTxnStateError(AppendRejected, kafka_name="InvalidTxnStateException", error="INVALID_TXN_STATE", code=48):
    """A batch outside the transaction that its producer has open, or that it would have to begin first."""


class TransactionCoordinatorFencedError(
    AppendRejected, kafka_name="TransactionCoordinatorFencedException", error="TRANSACTION_COORDINATOR_FENCED", code=52
):
    """A marker of a transaction coordinator that another one has replaced."""


class ProducerFencedError(KafkaError, kafka_name="ProducerFencedException", error="PRODUCER_FENCED", code=90):
    """A producer whose transactional id another one has taken over."""


class TransactionAbortedError(KafkaError, kafka_name="TransactionAbortedException"):
    """A record that was still waiting when its transaction was aborted."""


class NoOffsetForPartitionError(KafkaError, kafka_name="NoOffsetForPartitionException"):
    """A partition without a committed offset, where auto.offset.reset is none."""


class IllegalStateError(KafkaError, kafka_name="IllegalStateException"):
    """A call that does not fit what was called before, such as commit without a transaction."""


class DeliveryTimeoutError(KafkaError, kafka_name="TimeoutException", error="REQUEST_TIMED_OUT", code=7):
    """A batch that could not be appended within delivery.timeout.ms."""


class OffsetsOutOfOrderError(AppendRejected, kafka_name="OffsetsOutOfOrderException"):
    """Batches that keep their offsets, which do not increase."""


class UnexpectedAppendOffsetError(AppendRejected, kafka_name="UnexpectedAppendOffsetException"):
    """Batches that keep their offsets, the first of which lies before the log's end."""

    def __init__(self, first_offset: int, last_offset: int, log_end_offset: int) -> None:
        super().__init__(first_offset, last_offset, log_end_offset)
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.log_end_offset = log_end_offset

    def __str__(self) -> str:
        found = f"offsets {self.first_offset} to {self.last_offset}"
        return f"{found} in an append to a log that ends at {self.log_end_offset}, expected none before its end"


class UnforeseenBatchError(AppendRejected):
    """A batch on which Kafka's own code fails, so that its clients get the server's unknown error."""


class CleaningAborted(OctavoError):
    """A cleaning run was ended from outside, or its log has changed meanwhile: nothing of the run was taken over."""
