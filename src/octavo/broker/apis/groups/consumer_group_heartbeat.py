"""ConsumerGroupHeartbeat: a member of a consumer group reports that it is alive, and learns its partitions."""

from __future__ import annotations

from functools import partial

from octavo.broker.context import Context
from octavo.broker.errors import RequestError
from octavo.broker.reply import CoordinatorReply
from octavo.broker.request import Answer, Request
from octavo.broker.security.acls import Operation
from octavo.coordinator.groups.consumer.request import Heartbeat
from octavo.format.protocol.error_codes import ErrorCode


def handle(request: Request, context: Context) -> Answer:
    body, client = request.body, request.client
    may_describe = partial(context.authorizer.allows_topic, client, Operation.DESCRIBE)
    context.check_member(client, body["groupId"])
    if not all(map(may_describe, body["subscribedTopicNames"] or ())):
        raise RequestError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    reply = CoordinatorReply(context.loop)
    host = f"/{request.peer.host}"
    heartbeat = Heartbeat(body, request.version, request.client_id, host, reply, may_describe)
    context.groups.consumers.heartbeat(heartbeat, reply)
    return reply.answer
