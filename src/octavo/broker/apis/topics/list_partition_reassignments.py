"""ListPartitionReassignments: lists none, since a single node has nothing to reassign."""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.errors import RequestError, error_fields
from octavo.broker.request import Answer, Request
from octavo.broker.security.acls import Operation


def handle(request: Request, context: Context) -> Answer:
    try:
        context.check_cluster(request.client, Operation.DESCRIBE)
    except RequestError as error:
        return error_fields(error)
    return {"errorMessage": None, "topics": []}
