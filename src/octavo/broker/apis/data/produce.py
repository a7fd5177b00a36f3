"""Produce: appends one batch to each of several partitions, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from itertools import islice

from octavo.broker.apis.data.transactional_batches import Abilities, refused_partitions
from octavo.broker.context import Context
from octavo.broker.errors import RequestError, code_of
from octavo.broker.request import Answer, CloseConnection, NoAnswer, Request
from octavo.broker.security.acls import Operation
from octavo.coordinator.transactions.machine import NOBODY, Identity
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
from octavo.format.names import ADMIN_CLIENT_ID, TopicPartition
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
_ZSTD, _ZSTD_FROM_VERSION = int(Codec.ZSTD), 7
_ABORTABLE_FROM_VERSION = 11
_ADDS_FROM_VERSION = 12
_UP_TO_ATTRIBUTES = big_endian(dict(islice(BATCH_FIELDS.items(), 6)))
# With these errors, Kafka's answer has no log start offset.
_WITHOUT_LOG_START = RequestError, CorruptBatchError, RecordTooLargeError, RecordBatchTooLargeError, KafkaStorageError


def handle(request: Request, context: Context) -> Answer:
    body, topics = request.body, []
    refusal: RequestError | Mapping[TopicPartition, OctavoError] | None = _refusal(request, context)
    if refusal is None and body["transactionalId"] is not None:
        refusal = _refused_partitions(request, context)
    key = _key(request)
    for topic in body["topicData"]:
        rows = [_answer(request, context, topic, row, refusal) for row in topic["partitionData"]]
        topics.append({key: topic[key], "partitionResponses": rows})
    if body["acks"] != 0:
        return {"responses": topics}
    if any(row.get("errorCode") for topic in topics for row in topic["partitionResponses"]):
        raise CloseConnection("a produce request with acks=0 failed")  # the only way to tell the client
    return NoAnswer()


def _refusal(request: Request, context: Context) -> RequestError | None:
    """The reason why none of the partitions can be written to, if there is one."""
    body = request.body
    producers = set()
    for topic in body["topicData"]:
        for row in topic["partitionData"]:
            if _is_transactional(row["records"]):
                header = _header(row)
                producers.add((header["producerId"], header["producerEpoch"]))
    if producers:
        name = body["transactionalId"]
        if name is None or not context.allows_transactional_id(request.client, Operation.WRITE, name):
            return RequestError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        if len(producers) > 1:
            return RequestError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if body["acks"] not in (-1, 0, 1):
        return RequestError(ErrorCode.INVALID_REQUIRED_ACKS)
    return None


def _refused_partitions(request: Request, context: Context) -> dict[TopicPartition, OctavoError]:
    """The partitions whose transactional batches must not be written, each with the reason."""
    batches, by = {}, NOBODY
    for topic in request.body["topicData"]:
        for row in topic["partitionData"]:
            if not _is_transactional(row["records"]):
                continue
            header = _header(row)
            by = Identity(header["producerId"], header["producerEpoch"])
            with suppress(OctavoError):
                found = context.topic(request.client, Operation.WRITE, topic[_key(request)])
                _check(request, row["records"])
                batches[TopicPartition(found.name, row["index"])] = found.log(row["index"]), header["baseSequence"]
    abilities = Abilities(request.version >= _ABORTABLE_FROM_VERSION, request.version >= _ADDS_FROM_VERSION)
    refused = refused_partitions(context, request.body["transactionalId"], by, batches, abilities)
    return {one: _retriable(error, abilities) for one, error in refused.items()}


def _retriable(error: OctavoError, abilities: Abilities) -> OctavoError:
    """The error to send: if the client should send the batch again, one that even old clients retry."""
    code = error.code if isinstance(error, RequestError) else None
    is_busy = code is ErrorCode.CONCURRENT_TRANSACTIONS and not abilities.leaves_adding
    if not is_busy and code is not ErrorCode.NOT_COORDINATOR:
        return error
    problem = f"Unable to verify that the partition has been added to the transaction: {error}"
    return RequestError(ErrorCode.NOT_ENOUGH_REPLICAS, problem)


def _key(request: Request) -> str:
    """The field that names a topic."""
    return "topicId" if request.version >= _IDS_FROM_VERSION else "name"


def _is_transactional(records: memoryview | None) -> bool:
    if records is None or len(records) < BATCH_OVERHEAD:
        return False
    return bool(records[ATTRIBUTES_POSITION + 1] & TRANSACTIONAL)


def _header(row: Row) -> Row:
    """The fields of the batch's header."""
    return dict(zip(BATCH_FIELDS, BATCH_HEADER.unpack_from(row["records"]), strict=True))


def _answer(
    request: Request,
    context: Context,
    topic: Row,
    row: Row,
    refusal: RequestError | Mapping[TopicPartition, OctavoError] | None,
) -> Row:
    """The answer for one partition; its error does not affect the others."""
    log_start_offset, index, records = -1, row["index"], row["records"]
    try:
        if isinstance(refusal, RequestError) and refusal.code is not ErrorCode.INVALID_REQUIRED_ACKS:
            raise refusal
        found = context.topic(request.client, Operation.WRITE, topic[_key(request)])
        log = found.log(index)
        _check(request, records)
        if isinstance(refusal, RequestError):  # Kafka looks at the acks only when it is about to append
            raise refusal
        if found.is_internal and request.client_id != ADMIN_CLIENT_ID:
            raise RequestError(ErrorCode.INVALID_TOPIC_EXCEPTION)
        log_start_offset = log.log_start_offset
        if refusal and (refused := refusal.get(TopicPartition(found.name, index))):
            raise refused
        done = log.append_as_leader(records, leader_epoch=log.leader_epoch)
    except OctavoError as error:
        return _failure(index, error, log_start_offset)
    return {
        "index": index,
        "baseOffset": done.first_offset,
        "logAppendTimeMs": done.log_append_time,
        "logStartOffset": done.log_start_offset,
    }


def _failure(partition: int, error: OctavoError, log_start_offset: int) -> Row:
    row: Row = {"index": partition, "errorCode": code_of(error), "baseOffset": -1, "logAppendTimeMs": -1}
    row["logStartOffset"] = -1 if isinstance(error, _WITHOUT_LOG_START) else log_start_offset
    if isinstance(error, RequestError):
        row["errorMessage"] = error.problem
    if isinstance(error, RecordsRejected):
        row["errorMessage"] = str(error)
        row["recordErrors"] = [
            {"batchIndex": one.batch_index, "batchIndexErrorMessage": one.problem} for one in error.record_errors
        ]
    return row


def _check(request: Request, records: memoryview | None) -> None:
    """Check what does not depend on the log: the records must be exactly one whole v2 batch, with a codec that the
    request's version allows."""
    if records is None or len(records) < _UP_TO_ATTRIBUTES.size:
        raise RequestError(ErrorCode.INVALID_RECORD)
    _, length, _, magic, _, attributes = _UP_TO_ATTRIBUTES.unpack_from(records)
    if magic != 2 or length + LOG_OVERHEAD != len(records):
        raise RequestError(ErrorCode.INVALID_RECORD)
    if attributes & CODEC_MASK == _ZSTD and request.version < _ZSTD_FROM_VERSION:
        raise RequestError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
