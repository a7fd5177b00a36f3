"""InitProducerId: gives an idempotent or transactional producer its id and epoch."""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.errors import code_of, producer_error
from octavo.broker.request import Request, later
from octavo.broker.security.acls import Operation, ResourceType
from octavo.coordinator.transactions.machine import NOBODY, Identity
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode

_FENCED_FROM_VERSION = 4


@later
def handle(request: Request, context: Context) -> Row:
    body, transactions = request.body, context.transactions
    refusal = _refusal(request, context)
    if refusal is not ErrorCode.NONE:
        return _row(refusal)
    transactional_id = body["transactionalId"]
    if transactional_id is None:
        try:
            return _row(ErrorCode.NONE, Identity(context.producer_ids.allocate(), 0))
        except OctavoError as error:
            return _row(code_of(error))
    expected = None if body["producerId"] == -1 else Identity(body["producerId"], body["producerEpoch"])
    answer = transactions.init_producer_id(transactional_id, body["transactionTimeoutMs"], expected)
    if answer.error is ErrorCode.CONCURRENT_TRANSACTIONS:
        transactions.complete(transactional_id)
    shown = producer_error(answer.error, knows_fenced=request.version >= _FENCED_FROM_VERSION)
    return _row(shown, answer.identity)


def _refusal(request: Request, context: Context) -> ErrorCode:
    body, authorizer = request.body, context.authorizer
    if body["transactionalId"] is not None:
        if not context.allows_transactional_id(request.client, Operation.WRITE, body["transactionalId"]):
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    elif not authorizer.allows_cluster(request.client, Operation.IDEMPOTENT_WRITE) and not authorizer.allows_some(
        request.client, Operation.WRITE, ResourceType.TOPIC
    ):
        return ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    if context.is_read_only:
        return ErrorCode.POLICY_VIOLATION
    if (body["producerId"] == -1) is not (body["producerEpoch"] == -1):
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.NONE


def _row(error: int, identity: Identity = NOBODY) -> Row:
    return {"errorCode": error, "producerId": identity.producer_id, "producerEpoch": identity.epoch}
