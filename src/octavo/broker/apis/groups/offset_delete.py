"""OffsetDelete: deletes what a group has committed for individual partitions."""

from __future__ import annotations

from octavo.broker.apis.groups.offset_topics import answered, named_topics, usable
from octavo.broker.context import Context
from octavo.broker.errors import RequestError
from octavo.broker.request import Request, later
from octavo.broker.security.acls import Operation
from octavo.coordinator.groups.store import failure_code
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode


@later
def handle(request: Request, context: Context) -> Row:
    group_id = request.body["groupId"]
    try:
        context.check_group(request.client, Operation.DELETE, group_id)
        context.check_writable(Operation.DELETE)
        if not group_id:
            raise RequestError(ErrorCode.INVALID_GROUP_ID)
        topics = named_topics(request, context, "name")
        kept = context.groups.admin.delete_offsets(group_id, usable(topics))
    except OctavoError as error:
        return {"errorCode": failure_code(error), "topics": []}
    return {"topics": answered(topics, "name", dict.fromkeys(kept, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC))}
