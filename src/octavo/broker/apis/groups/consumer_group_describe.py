"""ConsumerGroupDescribe: shows consumer groups with their members and assignments."""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.errors import RequestError, error_fields
from octavo.broker.request import Request, later
from octavo.broker.security.acls import Operation
from octavo.coordinator.groups.store import failure_code
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode


@later
def handle(request: Request, context: Context) -> Row:
    return {"groups": [_described(request, context, group_id) for group_id in request.body["groupIds"]]}


def _described(request: Request, context: Context, group_id: str) -> Row:
    nothing: Row = {"groupId": group_id, "groupState": "", "assignorName": "", "members": []}
    try:
        context.check_group(request.client, Operation.DESCRIBE, group_id)
        if not group_id:
            raise RequestError(ErrorCode.INVALID_GROUP_ID)
        row = context.groups.consumers.describe(group_id)
        _check_topics(request, context, row)
    except RequestError as error:
        return {**nothing, **error_fields(error)}
    except OctavoError as error:
        return {**nothing, "errorCode": failure_code(error)}
    if request.body["includeAuthorizedOperations"]:
        row["authorizedOperations"] = context.authorizer.allowed_on_group(request.client, group_id)
    return row


def _check_topics(request: Request, context: Context, row: Row) -> None:
    """Hide a group from a client that may not see all topics that its members are assigned."""
    names = {
        topic["topicName"]
        for member in row["members"]
        for assignment in (member["assignment"], member["targetAssignment"])
        for topic in assignment["topicPartitions"]
    }
    if not all(context.authorizer.allows_topic(request.client, Operation.DESCRIBE, name) for name in names):
        raise RequestError(
            ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            "The group has described topic(s) that the client is not authorized to describe.",
        )
