"""DeleteTopics: deletes topics and their records, by name or by id."""

from __future__ import annotations

from octavo.broker.catalog import Topic
from octavo.broker.context import Context
from octavo.broker.errors import RequestError, told
from octavo.broker.request import Answer, Later, Request
from octavo.broker.security.acls import Operation
from octavo.errors import OctavoError
from octavo.format.kafka_uuid import ZERO_UUID
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode

_IDS_FROM_VERSION = 6


def handle(request: Request, context: Context) -> Answer:
    body = request.body
    if request.version >= _IDS_FROM_VERSION:
        wanted = body["topics"]
    else:
        wanted = [{"name": name, "topicId": ZERO_UUID} for name in body["topicNames"]]
    return Later(lambda: {"responses": [_delete(request, context, row) for row in wanted]})


def _delete(request: Request, context: Context, row: Row) -> Row:
    try:
        topic = _found(request, context, row)
        context.logs.delete_topic(topic.name)
    except OctavoError as error:
        return {"name": row["name"], "topicId": row["topicId"], **told(error)}
    return {"name": topic.name, "topicId": topic.topic_id}


def _found(request: Request, context: Context, row: Row) -> Topic:
    if not context.config.delete_topic_enable:
        raise RequestError(ErrorCode.TOPIC_DELETION_DISABLED)
    if row["name"] is not None and row["topicId"] != ZERO_UUID:
        raise RequestError(ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")
    name = context.catalog.with_id(row["topicId"]).name if row["name"] is None else row["name"]
    context.check_writable(Operation.DELETE)
    if context.authorizer.allows_cluster(request.client, Operation.DELETE):
        return context.catalog.named(name)
    context.topic(request.client, Operation.DESCRIBE, name)  # only then may the client learn that it is missing
    return context.topic(request.client, Operation.DELETE, name)
