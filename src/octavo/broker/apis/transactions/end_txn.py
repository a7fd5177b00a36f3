"""EndTxn: decides how a transaction ends. The markers are written after the answer.

Unlike Kafka: the next request of the producer waits for the markers, so that it gets CONCURRENT_TRANSACTIONS only if
one cannot be written.
"""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.errors import producer_error
from octavo.broker.request import Answer, Request
from octavo.broker.security.acls import Operation
from octavo.coordinator.transactions.machine import Identity
from octavo.coordinator.transactions.metadata import VERSION_1, VERSION_2
from octavo.format.protocol.error_codes import ErrorCode

_FENCED_FROM_VERSION = 2
_NEW_EPOCH_FROM_VERSION = 5


def handle(request: Request, context: Context) -> Answer:
    body, transactional_id = request.body, request.body["transactionalId"]
    context.check_transactional_id(request.client, Operation.WRITE, transactional_id)
    context.check_writable(Operation.WRITE)
    answer = context.transactions.end(
        transactional_id,
        Identity(body["producerId"], body["producerEpoch"]),
        commit=body["committed"],
        version=VERSION_2 if request.version >= _NEW_EPOCH_FROM_VERSION else VERSION_1,
    )
    if answer.error is ErrorCode.NONE:
        context.loop.call_soon(context.transactions.complete, transactional_id)
    error = producer_error(answer.error, knows_fenced=request.version >= _FENCED_FROM_VERSION)
    return {"errorCode": error, "producerId": answer.identity.producer_id, "producerEpoch": answer.identity.epoch}
