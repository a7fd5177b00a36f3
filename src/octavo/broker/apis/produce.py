"""Produce: appends one batch to each of several partitions, one after the other."""

from __future__ import annotations

from itertools import islice

from octavo.broker.context import Context
from octavo.broker.errors import RequestError, code_of
from octavo.broker.request import Answer, CloseConnection, NoAnswer, Request
from octavo.broker.security.acls import Operation
from octavo.errors import (
    CorruptBatchError,
    KafkaStorageError,
    OctavoError,
    RecordBatchTooLargeError,
    RecordsRejected,
    RecordTooLargeError,
)
from octavo.format.compression import Codec
from octavo.format.messages.schema import Row
from octavo.format.names import ADMIN_CLIENT_ID
from octavo.format.protocol.error_codes import ErrorCode
from octavo.kernels.layout import (
    ATTRIBUTES_POSITION,
    BATCH_FIELDS,
    BATCH_HEADER,
    BATCH_OVERHEAD,
    CODEC_MASK,
    LOG_OVERHEAD,
    TRANSACTIONAL,
    big_endian,
)

_IDS_FROM_VERSION = 13
_ZSTD_FROM_VERSION = 7
_UP_TO_ATTRIBUTES = big_endian(dict(islice(BATCH_FIELDS.items(), 6)))
# Kafka raises these before it looks at the log's start.
_BEFORE_THE_LOG = CorruptBatchError, RecordTooLargeError, RecordBatchTooLargeError, KafkaStorageError


def handle(request: Request, context: Context) -> Answer:
    body, acks = request.body, request.body["acks"]
    refusal = _refusal(body)
    topics = []
    for topic in body["topicData"]:
        rows = [_answer(request, context, topic, row, refusal) for row in topic["partitionData"]]
        key = "topicId" if request.version >= _IDS_FROM_VERSION else "name"
        topics.append({key: topic[key], "partitionResponses": rows})
    if acks != 0:
        return {"responses": topics}
    if any(row.get("errorCode") for topic in topics for row in topic["partitionResponses"]):
        raise CloseConnection("a produce request without an answer failed")  # the only way to tell the client
    return NoAnswer()


def _refusal(body: Row) -> RequestError | None:
    """Why no partition can be written to."""
    if body["acks"] not in (-1, 0, 1):
        return RequestError(ErrorCode.INVALID_REQUIRED_ACKS)
    transactional = {
        (header["producerId"], header["producerEpoch"])
        for topic in body["topicData"]
        for header in [_header(row) for row in topic["partitionData"] if _is_transactional(row["records"])]
    }
    if transactional and body["transactionalId"] is None:
        return RequestError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if len(transactional) > 1:
        return RequestError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if transactional:  # no transaction can be begun over the wire yet, so nobody could end this one
        return RequestError(ErrorCode.INVALID_TXN_STATE)
    return None


def _is_transactional(records: memoryview | None) -> bool:
    if records is None or len(records) < BATCH_OVERHEAD:
        return False
    return bool(records[ATTRIBUTES_POSITION + 1] & TRANSACTIONAL)


def _header(row: Row) -> Row:
    """The header of a partition's batch."""
    return dict(zip(BATCH_FIELDS, BATCH_HEADER.unpack_from(row["records"]), strict=True))


def _answer(request: Request, context: Context, topic: Row, row: Row, refusal: RequestError | None) -> Row:
    """The answer for one partition; its error does not affect the others."""
    log_start_offset = -1
    try:
        if refusal is not None:
            raise refusal
        if request.version >= _IDS_FROM_VERSION:
            found = context.topic_with_id(request.client, Operation.WRITE, topic["topicId"])
        else:
            found = context.topic(request.client, Operation.WRITE, topic["name"])
        log = found.log(row["index"])
        _check(request, row["records"])
        if found.is_internal and request.client_id != ADMIN_CLIENT_ID:
            raise RequestError(ErrorCode.INVALID_TOPIC_EXCEPTION)
        log_start_offset = log.log_start_offset
        done = log.append_as_leader(row["records"], leader_epoch=log.leader_epoch)
    except OctavoError as error:
        return _failure(row["index"], error, log_start_offset)
    return {
        "index": row["index"],
        "baseOffset": done.first_offset,
        "logAppendTimeMs": done.log_append_time,
        "logStartOffset": done.log_start_offset,
    }


def _failure(partition: int, error: OctavoError, log_start_offset: int) -> Row:
    row: Row = {"index": partition, "errorCode": code_of(error), "baseOffset": -1, "logAppendTimeMs": -1}
    row["logStartOffset"] = -1 if isinstance(error, _BEFORE_THE_LOG) else log_start_offset
    if isinstance(error, RequestError):
        row["errorMessage"] = error.problem
    if isinstance(error, RecordsRejected):
        row["errorMessage"] = str(error)
        row["recordErrors"] = [
            {"batchIndex": one.batch_index, "batchIndexErrorMessage": one.problem} for one in error.record_errors
        ]
    return row


def _check(request: Request, records: memoryview | None) -> None:
    """Check what a request must have, whatever the log says: exactly one whole v2 batch, with a codec of its
    version."""
    if records is None or len(records) < _UP_TO_ATTRIBUTES.size:
        raise RequestError(ErrorCode.INVALID_RECORD)
    _, length, _, magic, _, attributes = _UP_TO_ATTRIBUTES.unpack_from(records)
    if magic != 2 or length + LOG_OVERHEAD != len(records):
        raise RequestError(ErrorCode.INVALID_RECORD)
    if attributes & CODEC_MASK == Codec.ZSTD and request.version < _ZSTD_FROM_VERSION:
        raise RequestError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
