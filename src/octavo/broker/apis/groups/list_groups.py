"""ListGroups: lists the groups of all kinds, or those of some types or in some states."""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.request import Request, later
from octavo.broker.security.acls import Operation, ResourceType
from octavo.coordinator.groups.store import failure_code
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row


@later
def handle(request: Request, context: Context) -> Row:
    states = {state.strip().lower() for state in request.body["statesFilter"]}
    types = {kind.lower() for kind in request.body["typesFilter"]}
    sees_all = context.authorizer.allows_cluster(request.client, Operation.DESCRIBE)

    def is_shown(row: Row) -> bool:
        if (states and row["groupState"].lower() not in states) or (types and row["groupType"] not in types):
            return False
        return sees_all or context.authorizer.allows(
            request.client, Operation.DESCRIBE, ResourceType.GROUP, row["groupId"]
        )

    try:
        groups = context.groups.admin.list()
    except OctavoError as error:
        return {"errorCode": failure_code(error), "groups": []}
    return {"groups": [row for row in groups if is_shown(row)]}
