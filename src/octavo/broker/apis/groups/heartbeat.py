"""Heartbeat: a member that uses the classic protocol reports that it is alive, and learns whether to join again."""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.reply import CoordinatorReply
from octavo.broker.request import Answer, Request


def handle(request: Request, context: Context) -> Answer:
    context.check_member(request.client, request.body["groupId"])
    reply = CoordinatorReply(context.loop)
    context.groups.members.heartbeat(request.body, reply)
    return reply.answer
