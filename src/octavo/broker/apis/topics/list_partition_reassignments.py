"""ListPartitionReassignments: lists none, since a single node has nothing to reassign."""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.request import Answer, Request
from octavo.broker.security.acls import Operation


def handle(request: Request, context: Context) -> Answer:
    context.check_cluster(request.client, Operation.DESCRIBE)
    return {"errorMessage": None, "topics": []}
