"""AddPartitionsToTxn: adds partitions to a transaction, or to several from version 4 on, which only brokers use."""

from __future__ import annotations

from collections.abc import Iterable

from octavo.broker.context import Context
from octavo.broker.errors import producer_error
from octavo.broker.request import Answer, Request
from octavo.broker.security.acls import Operation
from octavo.coordinator.transactions.machine import Identity
from octavo.coordinator.transactions.metadata import VERSION_1, VERSION_2
from octavo.format.messages.schema import Row
from octavo.format.names import INTERNAL_TOPICS, TopicPartition, by_topic
from octavo.format.protocol.error_codes import ErrorCode

_FENCED_FROM_VERSION = 2
_SEVERAL_FROM_VERSION = 4
Errors = dict[TopicPartition, ErrorCode]


def handle(request: Request, context: Context) -> Answer:
    body = request.body
    if request.version < _SEVERAL_FROM_VERSION:
        by = Identity(body["v3AndBelowProducerId"], body["v3AndBelowProducerEpoch"])
        wanted = _partitions(body["v3AndBelowTopics"])
        errors = _added(request, context, body["v3AndBelowTransactionalId"], by, wanted)
        return {"resultsByTopicV3AndBelow": _rows(errors)}
    if not context.authorizer.allows_cluster(request.client, Operation.CLUSTER_ACTION):
        return {"errorCode": ErrorCode.CLUSTER_AUTHORIZATION_FAILED}
    return {
        "resultsByTransaction": [
            {"transactionalId": row["transactionalId"], "topicResults": _rows(_of_transaction(request, context, row))}
            for row in body["transactions"]
        ]
    }


def _of_transaction(request: Request, context: Context, row: Row) -> Errors:
    by = Identity(row["producerId"], row["producerEpoch"])
    wanted = _partitions(row["topics"])
    if not row["verifyOnly"]:
        return _added(request, context, row["transactionalId"], by, wanted)
    return _refused(request, context, wanted) or context.transactions.verify(row["transactionalId"], by, wanted)


def _added(
    request: Request, context: Context, transactional_id: str, by: Identity, wanted: frozenset[TopicPartition]
) -> Errors:
    is_client = request.version < _SEVERAL_FROM_VERSION
    if is_client and not context.allows_transactional_id(request.client, Operation.WRITE, transactional_id):
        return dict.fromkeys(wanted, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    refused = _refused(request, context, wanted)
    if refused:
        return refused
    version = VERSION_1 if is_client else VERSION_2
    error = context.transactions.add_partitions(transactional_id, by, wanted, version)
    return dict.fromkeys(wanted, producer_error(error, knows_fenced=request.version >= _FENCED_FROM_VERSION))


def _refused(request: Request, context: Context, wanted: frozenset[TopicPartition]) -> Errors:
    """An error for every partition if one of them cannot be written to, since then none is added; otherwise empty."""
    if context.is_read_only:  # even a verification may write markers
        return dict.fromkeys(wanted, ErrorCode.POLICY_VIOLATION)
    errors: Errors = {}
    for topic, number in wanted:
        known = context.catalog.topics.get(topic)
        if request.version < _SEVERAL_FROM_VERSION and (
            topic in INTERNAL_TOPICS or not context.authorizer.allows_topic(request.client, Operation.WRITE, topic)
        ):
            errors[TopicPartition(topic, number)] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        elif known is None or number not in known.logs:
            errors[TopicPartition(topic, number)] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return {**dict.fromkeys(wanted, ErrorCode.OPERATION_NOT_ATTEMPTED), **errors} if errors else {}


def _partitions(topics: Iterable[Row]) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(topic["name"], number) for topic in topics for number in topic["partitions"])


def _rows(errors: Errors) -> list[Row]:
    topics = by_topic(
        (topic, {"partitionIndex": number, "partitionErrorCode": error})
        for (topic, number), error in sorted(errors.items())
    )
    return [{"name": name, "resultsByPartition": rows} for name, rows in topics.items()]
