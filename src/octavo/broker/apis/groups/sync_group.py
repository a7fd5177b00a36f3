"""SyncGroup: a member gets its assignment; the leader of a classic group sends everybody's."""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.errors import RequestError
from octavo.broker.reply import CoordinatorReply
from octavo.broker.request import Answer, Request
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode

_PROTOCOL_FROM_VERSION = 5


def handle(request: Request, context: Context) -> Answer:
    body = request.body
    if request.version >= _PROTOCOL_FROM_VERSION and None in (body["protocolType"], body["protocolName"]):
        return _converted({"errorCode": ErrorCode.INCONSISTENT_GROUP_PROTOCOL})
    try:
        context.check_member(request.client, body["groupId"])
    except RequestError as error:
        return _converted({"errorCode": error.code})
    reply = CoordinatorReply(context.loop, _converted)
    context.groups.members.sync(body, reply)
    return reply.answer


def _converted(row: Row) -> Row:
    return {"assignment": b"", **row}
