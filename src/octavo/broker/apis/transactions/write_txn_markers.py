"""WriteTxnMarkers: ends transactions in partitions, at the request of a coordinator or an administrator."""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.errors import RequestError, code_of
from octavo.broker.request import Answer, Request
from octavo.broker.security.acls import Operation
from octavo.coordinator.transactions.machine import Identity
from octavo.errors import EncodingError, OctavoError
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode


def handle(request: Request, context: Context) -> Answer:
    refusal = _refusal(request, context)
    rows: dict[int, Row] = {}  # by producer id, as in Kafka's answers
    for marker in request.body["markers"]:
        row = rows.setdefault(marker["producerId"], {"producerId": marker["producerId"], "topics": []})
        row["topics"] += [
            {
                "name": topic["name"],
                "partitions": [
                    {"partitionIndex": number, "errorCode": _written(context, marker, topic["name"], number, refusal)}
                    for number in topic["partitionIndexes"]
                ],
            }
            for topic in marker["topics"]
        ]
    return {"markers": list(rows.values())}


def _refusal(request: Request, context: Context) -> RequestError | None:
    allows = context.authorizer.allows_cluster
    if not allows(request.client, Operation.ALTER) and not allows(request.client, Operation.CLUSTER_ACTION):
        return RequestError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return RequestError(ErrorCode.POLICY_VIOLATION) if context.is_read_only else None


def _written(context: Context, marker: Row, topic: str, number: int, refusal: RequestError | None) -> int:
    try:
        if refusal is not None:
            raise refusal
        context.transactions.write_marker(
            context.catalog.named(topic).log(number),
            Identity(marker["producerId"], marker["producerEpoch"]),
            commit=marker["transactionResult"],
            coordinator_epoch=marker["coordinatorEpoch"],
            version=marker.get("transactionVersion", 0),
        )
    except EncodingError:  # a producer id without an epoch, or the reverse: no batch can have that
        return ErrorCode.UNKNOWN_SERVER_ERROR
    except OctavoError as error:
        return code_of(error)
    return ErrorCode.NONE
