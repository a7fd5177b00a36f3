"""JoinGroup: a client becomes a member of a group by the classic protocol, or joins its next generation."""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.errors import RequestError
from octavo.broker.reply import CoordinatorReply
from octavo.broker.request import Answer, Request
from octavo.coordinator.groups.classic.join import Caller
from octavo.format.messages.schema import Row

_NULL_FROM_VERSION = 7  # in earlier versions an unknown protocol has an empty name


def handle(request: Request, context: Context) -> Answer:
    version = request.version

    def converted(row: Row) -> Row:
        filled: Row = {"generationId": -1, "leader": "", "memberId": "", "members": [], "protocolName": None, **row}
        if filled["protocolName"] is None and version < _NULL_FROM_VERSION:
            filled["protocolName"] = ""
        return filled

    try:
        context.check_member(request.client, request.body["groupId"])
    except RequestError as error:
        return converted({"errorCode": error.code})
    reply = CoordinatorReply(context.loop, converted)
    caller = Caller(request.client_id, f"/{request.peer.host}", version)
    context.groups.members.join(request.body, caller, reply)
    return reply.answer
