"""The errors that Kafka has a name and a code for."""

from __future__ import annotations

import pickle

import pytest

from octavo.errors import (
    AppendRejected,
    CorruptBatchError,
    InconsistentTopicIdError,
    InvalidBatchError,
    InvalidProducerEpochError,
    InvalidTimestampError,
    InvalidTxnStateError,
    KafkaError,
    KafkaStorageError,
    OctavoError,
    OffsetOutOfRangeError,
    OffsetsOutOfOrderError,
    OutOfOrderSequenceError,
    PolicyViolationError,
    RecordBatchTooLargeError,
    RecordError,
    RecordTooLargeError,
    TransactionCoordinatorFencedError,
    UnexpectedAppendOffsetError,
    UnforeseenBatchError,
)

REJECTIONS: dict[type[KafkaError], tuple[str, str, int]] = {
    CorruptBatchError: ("CorruptRecordException", "CORRUPT_MESSAGE", 2),
    RecordTooLargeError: ("RecordTooLargeException", "MESSAGE_TOO_LARGE", 10),
    RecordBatchTooLargeError: ("RecordBatchTooLargeException", "RECORD_LIST_TOO_LARGE", 18),
    InvalidTimestampError: ("InvalidTimestampException", "INVALID_TIMESTAMP", 32),
    OutOfOrderSequenceError: ("OutOfOrderSequenceException", "OUT_OF_ORDER_SEQUENCE_NUMBER", 45),
    InvalidProducerEpochError: ("InvalidProducerEpochException", "INVALID_PRODUCER_EPOCH", 47),
    InvalidTxnStateError: ("InvalidTxnStateException", "INVALID_TXN_STATE", 48),
    TransactionCoordinatorFencedError: (
        "TransactionCoordinatorFencedException",
        "TRANSACTION_COORDINATOR_FENCED",
        52,
    ),
    InvalidBatchError: ("InvalidRecordException", "INVALID_RECORD", 87),
    OffsetsOutOfOrderError: ("OffsetsOutOfOrderException", "UNKNOWN_SERVER_ERROR", -1),
    UnexpectedAppendOffsetError: ("UnexpectedAppendOffsetException", "UNKNOWN_SERVER_ERROR", -1),
    UnforeseenBatchError: ("UnknownServerException", "UNKNOWN_SERVER_ERROR", -1),
}
OTHERS: dict[type[KafkaError], tuple[str, str, int]] = {
    OffsetOutOfRangeError: ("OffsetOutOfRangeException", "OFFSET_OUT_OF_RANGE", 1),
    PolicyViolationError: ("PolicyViolationException", "POLICY_VIOLATION", 44),
    KafkaStorageError: ("KafkaStorageException", "KAFKA_STORAGE_ERROR", 56),
    InconsistentTopicIdError: ("InconsistentTopicIdException", "INCONSISTENT_TOPIC_ID", 103),
}
ALL = {**REJECTIONS, **OTHERS}


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_errors_have_kafkas_names_and_codes(kind: type[KafkaError]) -> None:
    assert (kind.kafka_name, kind.error, kind.code) == ALL[kind]
    assert issubclass(kind, OctavoError)


@pytest.mark.parametrize("kind", REJECTIONS, ids=lambda kind: kind.__name__)
def test_rejections_have_one_root(kind: type[KafkaError]) -> None:
    assert issubclass(kind, AppendRejected)


def test_an_offset_out_of_range_carries_the_range() -> None:
    error = OffsetOutOfRangeError(7, 10, 20)
    assert (error.offset, error.log_start_offset, error.log_end_offset) == (7, 10, 20)
    assert str(error) == "offset 7 is out of range: the log starts at 10 and ends before 20"


def test_an_unexpected_offset_says_what_was_expected() -> None:
    error = UnexpectedAppendOffsetError(3, 5, 9)
    assert (error.first_offset, error.last_offset, error.log_end_offset) == (3, 5, 9)
    assert str(error) == "offsets 3 to 5 are not after the end of the log, 9"


@pytest.mark.parametrize(
    "error",
    [
        InvalidBatchError("no", (RecordError(1, "a problem"),)),
        InvalidTimestampError("no"),
        CorruptBatchError("no"),
        OffsetOutOfRangeError(7, 10, 20),
        UnexpectedAppendOffsetError(3, 5, 9),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_cross_processes(error: KafkaError) -> None:
    """Spark's workers and process pools pickle them."""
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error) and vars(again) == vars(error)
