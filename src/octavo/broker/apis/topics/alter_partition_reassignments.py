"""AlterPartitionReassignments: changes nothing, since this node is the only place for a replica."""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.errors import RequestError, error_fields
from octavo.broker.request import Answer, Request
from octavo.broker.rows import topic_rows
from octavo.broker.security.acls import Operation
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode


def handle(request: Request, context: Context) -> Answer:
    body = request.body

    def answer(topic: str, row: Row) -> Row:
        try:
            _check(context, topic, row["partitionIndex"], row["replicas"])
        except RequestError as error:
            return {"partitionIndex": row["partitionIndex"], **error_fields(error)}
        return {"partitionIndex": row["partitionIndex"], "errorMessage": None}

    try:
        context.check_cluster(request.client, Operation.ALTER)
    except RequestError as error:
        return _refused(request, error)
    return {
        # Kafka copies it from the request only if there is something to reassign
        "allowReplicationFactorChange": body["allowReplicationFactorChange"] or not body["topics"],
        "errorMessage": None,
        "responses": topic_rows(body["topics"], "name", answer),
    }


def _refused(request: Request, error: RequestError) -> Row:
    def answer(topic: str, row: Row) -> Row:
        return {"partitionIndex": row["partitionIndex"], **error_fields(error)}

    return {**error_fields(error), "responses": topic_rows(request.body["topics"], "name", answer)}


def _check(context: Context, topic: str, partition: int, replicas: list[int] | None) -> None:
    """Raise RequestError unless the replicas are those that the partition has."""
    known = context.catalog.topics.get(topic)
    if known is None:
        raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {topic}.")
    if partition not in known.logs:
        raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {topic}:{partition}.")
    if replicas is None:
        raise RequestError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    problem = "The manual partition assignment includes"
    if not replicas:
        raise RequestError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{problem} an empty replica list.")
    for replica in sorted(replicas):
        if replica != context.node_id:
            problem += f" broker {replica}, but no such broker is registered."
            raise RequestError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)
    if len(replicas) > 1:
        problem += f" the broker {context.node_id} more than once."
        raise RequestError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)
