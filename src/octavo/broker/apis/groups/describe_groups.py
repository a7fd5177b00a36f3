"""DescribeGroups: shows classic groups with their members."""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.errors import RequestError, error_fields
from octavo.broker.request import Request, later
from octavo.broker.security.acls import Operation
from octavo.coordinator.groups.classic.group import ClassicState
from octavo.coordinator.groups.store import failure_code
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode

_NOT_FOUND_FROM_VERSION = 6  # earlier versions show a missing group as dead, without an error


@later
def handle(request: Request, context: Context) -> Row:
    return {"groups": [_described(request, context, group_id) for group_id in request.body["groups"]]}


def _described(request: Request, context: Context, group_id: str) -> Row:
    nothing: Row = {"groupId": group_id, "groupState": "", "protocolType": "", "protocolData": "", "members": []}
    try:
        context.check_group(request.client, Operation.DESCRIBE, group_id)
        row = context.groups.admin.describe(group_id)
    except RequestError as error:
        if error.code != ErrorCode.GROUP_ID_NOT_FOUND:
            return {**nothing, **error_fields(error)}
        if request.version >= _NOT_FOUND_FROM_VERSION:
            return {**nothing, **error_fields(error), "groupState": ClassicState.DEAD.value}
        row = {**nothing, "groupState": ClassicState.DEAD.value}
    except OctavoError as error:
        return {**nothing, "errorCode": failure_code(error)}
    if request.body["includeAuthorizedOperations"]:
        row["authorizedOperations"] = context.authorizer.allowed_on_group(request.client, group_id)
    return row
