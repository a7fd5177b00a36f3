"""Heartbeat: a member of a classic group reports that it is alive, and learns whether it has to join again."""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.errors import RequestError
from octavo.broker.reply import CoordinatorReply
from octavo.broker.request import Answer, Request


def handle(request: Request, context: Context) -> Answer:
    try:
        context.check_member(request.client, request.body["groupId"])
    except RequestError as error:
        return {"errorCode": error.code}
    reply = CoordinatorReply(context.loop)
    context.groups.members.heartbeat(request.body, reply)
    return reply.answer
