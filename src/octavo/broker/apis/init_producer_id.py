"""InitProducerId: allocates an id for an idempotent producer."""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.errors import code_of
from octavo.broker.request import Answer, Later, Request
from octavo.broker.security.acls import Operation, ResourceType
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode

_NO_PRODUCER: Row = {"producerId": -1, "producerEpoch": -1}


def handle(request: Request, context: Context) -> Answer:
    body = request.body
    if body["transactionalId"] is not None:
        code = ErrorCode.UNSUPPORTED_VERSION if body["transactionalId"] else ErrorCode.INVALID_REQUEST
        return {**_NO_PRODUCER, "errorCode": code}
    authorizer = context.authorizer
    if not authorizer.allows_cluster(request.client, Operation.IDEMPOTENT_WRITE) and not authorizer.allows_some(
        request.client, Operation.WRITE, ResourceType.TOPIC
    ):
        return {**_NO_PRODUCER, "errorCode": ErrorCode.CLUSTER_AUTHORIZATION_FAILED}
    if context.is_read_only:
        return {**_NO_PRODUCER, "errorCode": ErrorCode.POLICY_VIOLATION}
    if (body["producerId"] == -1) is not (body["producerEpoch"] == -1):
        return {**_NO_PRODUCER, "errorCode": ErrorCode.INVALID_REQUEST}

    def make() -> Row:
        try:
            return {"producerId": context.producer_ids.allocate(), "producerEpoch": 0}
        except OctavoError as error:
            return {**_NO_PRODUCER, "errorCode": code_of(error)}

    return Later(make)
