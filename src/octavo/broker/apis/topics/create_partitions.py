"""CreatePartitions: adds partitions to topics."""

from __future__ import annotations

from octavo.broker.apis.topics.create_topics import MOST_PARTITIONS, named_once
from octavo.broker.context import Context
from octavo.broker.errors import RequestError, error_fields
from octavo.broker.request import Request, later
from octavo.broker.security.acls import Operation
from octavo.errors import InvalidPartitionsError, OctavoError, PolicyViolationError
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode


@later
def handle(request: Request, context: Context) -> Row:
    once, refused = named_once(request.body["topics"])
    return {"results": refused + [_grow(request, context, row) for row in once]}


def _grow(request: Request, context: Context, row: Row) -> Row:
    name, count = row["name"], row["count"]
    try:
        present = len(context.topic(request.client, Operation.ALTER, name).logs)
        if count <= present:
            problem = f"The topic {name} currently has {present} partition(s); {count} would not be an increase."
            raise InvalidPartitionsError(problem)
        if count - present > MOST_PARTITIONS:
            raise PolicyViolationError("Excessively large number of partitions per request.")
        _check_assignments(row["assignments"], count - present, context.node_id)
        if not request.body["validateOnly"]:
            context.log_dir.create_partitions(name, count)
    except OctavoError as error:
        return {"name": name, **error_fields(error)}
    return {"name": name}


def _check_assignments(assignments: list[Row] | None, wanted: int, node_id: int) -> None:
    if assignments is None:
        return
    if len(assignments) != wanted:
        problem = f"Attempted to add {wanted} additional partition(s), but only {len(assignments)} assignment(s) "
        problem += "were specified."
        raise RequestError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)
    if any(row["brokerIds"] != [node_id] for row in assignments):
        problem = f"Each partition must be assigned to broker {node_id} alone: it is the only broker."
        raise RequestError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)
