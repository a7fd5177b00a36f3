"""DeleteGroups: deletes groups without members, and their offsets."""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.request import Request, later
from octavo.broker.security.acls import Operation
from octavo.coordinator.groups.store import failure_code
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row


@later
def handle(request: Request, context: Context) -> Row:
    group_ids = dict.fromkeys(request.body["groupsNames"])
    return {"results": [_deleted(request, context, group_id) for group_id in group_ids]}


def _deleted(request: Request, context: Context, group_id: str) -> Row:
    try:
        context.check_group(request.client, Operation.DELETE, group_id)
        context.check_writable(Operation.DELETE)
        context.groups.admin.delete(group_id)
    except OctavoError as error:
        return {"groupId": group_id, "errorCode": failure_code(error)}
    return {"groupId": group_id}
