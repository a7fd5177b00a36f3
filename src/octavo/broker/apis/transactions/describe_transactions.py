"""DescribeTransactions: shows the state of transactional ids."""

from __future__ import annotations

from functools import partial

from octavo.broker.context import Context
from octavo.broker.request import Answer, Request
from octavo.broker.security.acls import Operation
from octavo.format.messages.schema import Row
from octavo.format.names import by_topic
from octavo.format.protocol.error_codes import ErrorCode


def handle(request: Request, context: Context) -> Answer:
    return {"transactionStates": [_answer(request, context, one) for one in request.body["transactionalIds"]]}


def _answer(request: Request, context: Context, transactional_id: str) -> Row:
    if not context.allows_transactional_id(request.client, Operation.DESCRIBE, transactional_id):
        return {"errorCode": ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "transactionalId": transactional_id}
    known = context.transactions.describe(transactional_id)
    if isinstance(known, ErrorCode):
        return {"errorCode": known, "transactionalId": transactional_id}
    topics = by_topic(sorted(known.partitions))
    may_describe = partial(context.authorizer.allows_topic, request.client, Operation.DESCRIBE)
    return {
        "topics": [{"topic": name, "partitions": numbers} for name, numbers in topics.items() if may_describe(name)],
        "transactionalId": known.transactional_id,
        "transactionState": known.status.kafka_name,
        "transactionTimeoutMs": known.timeout_ms,
        "transactionStartTimeMs": known.start_ms,
        "producerId": known.producer_id,
        "producerEpoch": known.epoch,
    }
