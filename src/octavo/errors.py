"""Octavo's errors under one root, those of Kafka with its names and codes; and the hints about unknown names."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest known one, or nothing if none is near."""
    return suggestion(nearest(name, known)[:1])


def suggestion(names: Sequence[str]) -> str:
    """The end of a message about an unknown name: the names that may be meant, or nothing if there are none."""
    return f" (did you mean {' or '.join(filter(None, [', '.join(names[:-1]), names[-1]]))}?)" if names else ""


def no_such_topic(topic: str, known: Iterable[str]) -> str:
    """The sentence about an unknown topic; where possible it names what may be meant, or which topics exist."""
    sentence, there = f"there is no topic {topic!r}", sorted(known, key=lambda name: (name.startswith("__"), name))
    if any(sign in topic for sign in "*?[]()|^$+\\"):
        matched = _matching(topic, there)
        would = f"; it would match {first_of(matched)}" if matched else ""
        return f"{sentence}: a name is expected here, not a pattern{would}"
    near = nearest(topic, there)
    if near:
        several = [name for name in there if name.startswith(topic)] if near[0].startswith(topic) else near[:1]
        return f"{sentence}{suggestion(several)}"
    if not there:
        return sentence
    return f"{sentence}; {'the topics are' if len(there) > 1 else 'the only topic is'} {first_of(there)}"


def no_such_partition(topic: str, partition: int, there: Iterable[int]) -> str:
    """The sentence about an unknown partition, with those that exist: `0 to 3, 7`."""
    ranges: list[list[int]] = []
    for number in sorted(there):
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1] = [ranges[-1][0], number]
        else:
            ranges.append([number])
    known = ", ".join(" to ".join(map(str, bounds)) for bounds in ranges) or "none that can be listed"
    return f"there is no partition {partition} of topic {topic!r}; it has {known}"


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Up to three names spelled like this one, the most similar first; upper and lower case count as the same."""
    from difflib import get_close_matches  # takes some ms to load

    spellings = {other.lower(): other for other in known}
    return [spellings[near] for near in get_close_matches(name.lower(), spellings)]


def _matching(pattern: str, names: list[str]) -> list[str]:
    """The names that match a pattern, taken as a shell pattern or as a regular expression."""
    import re
    from fnmatch import translate

    found = []
    for expression in (translate(pattern), pattern):
        with contextlib.suppress(re.error):
            found += [name for name in names if re.fullmatch(expression, name)]
    return list(dict.fromkeys(found))


def first_of(names: Sequence[str], most: int = 10) -> str:
    """The first names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


class OctavoError(Exception):
    """The root of Octavo's own errors. Arguments of a wrong type may raise TypeError, and files OSError."""


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
        """Add the path or position, which an outer layer knows; returns the same error."""
        self.position = self.position if position is None else position
        self.path = self.path if path is None else path
        return self

    def __str__(self) -> str:
        place = [f"position {self.position}"] if self.position is not None else []
        place = [self.path, *place] if self.path is not None else place
        return f"{', '.join(place)}: {self.problem}" if place else self.problem


class NotRegularFileError(CorruptionError):
    """A link, a folder, a FIFO, a socket or a device in place of a file: it is left untouched."""


class CorruptRecordError(CorruptionError):
    """A damaged batch or message, such as one whose length or checksum is wrong (Kafka's CorruptRecordException)."""


class InvalidRecordError(CorruptionError):
    """A batch whose checksum may be right but whose records break the format (Kafka's InvalidRecordException)."""


class DecompressionLimitError(CorruptionError):
    """A compressed batch that would decompress to more bytes than the caller allows."""


class EncodingError(OctavoError, ValueError):
    """Values that the format cannot hold; nothing was written."""


class UnsupportedCompressionTypeError(EncodingError):
    """A codec that a format version does not have (Kafka's UnsupportedCompressionTypeException)."""


class ScanError(OctavoError):
    """Something that cannot be read, because it does not exist or has disappeared in the meantime; or a scan with an
    invalid argument."""


class NoLogDirError(ScanError):
    """A folder that should be a log directory, but holds neither partitions nor a log directory's own files."""


class DataLossError(ScanError):
    """Records that a query has not read yet are gone from the log. The error keeps the query from silently skipping
    them."""


class ConfigError(OctavoError, ValueError):
    """An unknown or unsupported config or option, or an invalid value for one."""


class KafkaError(OctavoError):
    """An error that Kafka has too: `kafka_name` is its exception; `error` and `code` identify it on the wire."""

    kafka_name: ClassVar[str] = "UnknownServerException"
    error: ClassVar[str] = "UNKNOWN_SERVER_ERROR"
    code: ClassVar[int] = -1

    def __init_subclass__(cls, kafka_name: str = "", error: str = "", code: int | None = None) -> None:
        super().__init_subclass__()
        cls.kafka_name = kafka_name or cls.kafka_name
        cls.error = error or cls.error
        cls.code = cls.code if code is None else code


class OffsetOutOfRangeError(KafkaError, kafka_name="OffsetOutOfRangeException", error="OFFSET_OUT_OF_RANGE", code=1):
    """An offset outside a log; carries the log's start and end offsets."""

    def __init__(self, offset: int, log_start_offset: int, log_end_offset: int) -> None:
        super().__init__(offset, log_start_offset, log_end_offset)
        self.offset = offset
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset

    def __str__(self) -> str:
        bounds = f"the log starts at {self.log_start_offset} and ends before {self.log_end_offset}"
        return f"offset {self.offset} is out of range: {bounds}"


class PolicyViolationError(KafkaError, kafka_name="PolicyViolationException", error="POLICY_VIOLATION", code=44):
    """A request that a rule forbids, such as deleting records when the topic's cleanup.policy is compact."""


class KafkaStorageError(KafkaError, kafka_name="KafkaStorageException", error="KAFKA_STORAGE_ERROR", code=56):
    """A log that cannot be used, such as one whose directory went offline when its disk failed."""


class TransactionIncompleteError(KafkaStorageError):
    """A transaction that is decided, but could not be completed; this will be tried again.

    Until it is complete, nothing else can be done under its transactional id.
    """


class LogDirError(OctavoError):
    """A log directory that cannot be used, for example because it is locked or belongs to another broker."""


class LogDirLockedError(LogDirError):
    """A log directory that this or another process has already opened for writing."""


class StagedFileLostError(LogDirError):
    """A staged file that a commit needs is missing or damaged."""


class InvalidTopicError(KafkaError, kafka_name="InvalidTopicException", error="INVALID_TOPIC_EXCEPTION", code=17):
    """An invalid topic name."""


class TopicExistsError(KafkaError, kafka_name="TopicExistsException", error="TOPIC_ALREADY_EXISTS", code=36):
    """A topic to be created already exists."""


class InvalidPartitionsError(KafkaError, kafka_name="InvalidPartitionsException", error="INVALID_PARTITIONS", code=37):
    """A number of partitions that a topic cannot have."""


class UnknownTopicOrPartitionError(
    KafkaError, kafka_name="UnknownTopicOrPartitionException", error="UNKNOWN_TOPIC_OR_PARTITION", code=3
):
    """A topic or partition that does not exist."""


class InconsistentTopicIdError(
    KafkaError, kafka_name="InconsistentTopicIdException", error="INCONSISTENT_TOPIC_ID", code=103
):
    """A partition of another topic with the same name, as its topic id shows."""


class AppendRejected(KafkaError):
    """Batches that a log does not accept; nothing was written."""


class RecordError(NamedTuple):
    """What is wrong with one record of a rejected batch."""

    batch_index: int  # the record's number in its batch
    problem: str


class RecordsRejected(AppendRejected):
    """A batch rejected because of its records; `record_errors` lists the ones at fault, if the error is about single
    records."""

    def __init__(self, problem: str, record_errors: tuple[RecordError, ...] = ()) -> None:
        super().__init__(problem)
        self.record_errors = record_errors


class InvalidBatchError(RecordsRejected, kafka_name="InvalidRecordException", error="INVALID_RECORD", code=87):
    """A batch that breaks a rule of the format or of the topic."""


class InvalidTimestampError(
    RecordsRejected, kafka_name="InvalidTimestampException", error="INVALID_TIMESTAMP", code=32
):
    """Records beyond the topic's time limits, a timestamp that Kafka does not allow, or a producer's batch that claims
    LogAppendTime.

    Its `record_errors` lists records with other faults, too.
    """


class CorruptBatchError(AppendRejected, kafka_name="CorruptRecordException", error="CORRUPT_MESSAGE", code=2):
    """A batch, or a message in it, whose length, magic or checksum is wrong."""


class RecordTooLargeError(AppendRejected, kafka_name="RecordTooLargeException", error="MESSAGE_TOO_LARGE", code=10):
    """A batch of more than max.message.bytes, a record that is too large for its producer's configs, or a compressed
    batch that unpacks to too many bytes."""


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
    """A batch or marker with an outdated producer epoch."""


class InvalidTxnStateError(AppendRejected, kafka_name="InvalidTxnStateException", error="INVALID_TXN_STATE", code=48):
    """A batch outside any transaction, from a producer that has an open one."""


class TransactionCoordinatorFencedError(
    AppendRejected, kafka_name="TransactionCoordinatorFencedException", error="TRANSACTION_COORDINATOR_FENCED", code=52
):
    """A marker from a transaction coordinator that another one has replaced."""


class ProducerFencedError(KafkaError, kafka_name="ProducerFencedException", error="PRODUCER_FENCED", code=90):
    """A producer whose transactional id was taken over or has expired, or whose transaction timed out."""


class TransactionAbortedError(KafkaError, kafka_name="TransactionAbortedException"):
    """A record that was still waiting when its transaction was aborted."""


class NoOffsetForPartitionError(KafkaError, kafka_name="NoOffsetForPartitionException"):
    """A partition without a committed offset while auto.offset.reset is none."""


class IllegalStateError(KafkaError, kafka_name="IllegalStateException"):
    """A call that is not possible in the current state, such as a commit without a transaction."""


class DeliveryTimeoutError(KafkaError, kafka_name="TimeoutException", error="REQUEST_TIMED_OUT", code=7):
    """A batch that could not be appended within delivery.timeout.ms."""


class OffsetsOutOfOrderError(AppendRejected, kafka_name="OffsetsOutOfOrderException"):
    """Batches that keep their offsets, but whose offsets do not increase."""


class UnexpectedAppendOffsetError(AppendRejected, kafka_name="UnexpectedAppendOffsetException"):
    """Batches that keep their offsets, the first of which lies before the log's end."""

    def __init__(self, first_offset: int, last_offset: int, log_end_offset: int) -> None:
        super().__init__(first_offset, last_offset, log_end_offset)
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.log_end_offset = log_end_offset

    def __str__(self) -> str:
        found = f"offsets {self.first_offset} to {self.last_offset}"
        return f"{found} are not after the end of the log, {self.log_end_offset}"


class UnforeseenBatchError(AppendRejected):
    """A batch on which Kafka's own code fails, so that its clients get UNKNOWN_SERVER_ERROR."""


class CleaningAborted(OctavoError):
    """A cleaning that was stopped from outside, or whose log changed in the meantime: its result was discarded."""
