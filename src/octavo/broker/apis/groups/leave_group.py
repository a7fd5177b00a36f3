"""LeaveGroup: members that use the classic protocol leave their group, or an administrator removes members."""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.reply import CoordinatorReply
from octavo.broker.request import Answer, Request
from octavo.format.messages.schema import Row

_SEVERAL_FROM_VERSION = 3


def handle(request: Request, context: Context) -> Answer:
    body = request.body
    context.check_member(request.client, body["groupId"])
    if request.version >= _SEVERAL_FROM_VERSION:
        reply, members = CoordinatorReply(context.loop), body["members"]
    else:
        reply = CoordinatorReply(context.loop, _of_one)
        members = [{"memberId": body["memberId"], "groupInstanceId": None}]
    context.groups.members.leave(body["groupId"], members, reply)
    return reply.answer


def _of_one(row: Row) -> Row:
    """The answer in old versions, whose requests name only one member."""
    return row if row.get("errorCode") else {"errorCode": row["members"][0]["errorCode"]}
