"""DeleteTopics: deletes topics and their records, by name or by id."""

from __future__ import annotations

from collections import Counter

from octavo.broker.catalog import Topic
from octavo.broker.context import Context
from octavo.broker.errors import RequestError, error_fields
from octavo.broker.request import Request, later
from octavo.broker.security.acls import Operation
from octavo.errors import OctavoError, UnknownTopicOrPartitionError
from octavo.format.kafka_uuid import ZERO_UUID
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode

_IDS_FROM_VERSION = 6
_BY_NAME_AND_ID = RequestError(
    ErrorCode.INVALID_REQUEST, "The provided topic name maps to an ID that was already supplied."
)


@later
def handle(request: Request, context: Context) -> Row:
    if request.version >= _IDS_FROM_VERSION:
        wanted = request.body["topics"]
    else:
        wanted = [{"name": name, "topicId": ZERO_UUID} for name in request.body["topicNames"]]
    return {"responses": _delete(request, context, wanted)}


def _delete(request: Request, context: Context, wanted: list[Row]) -> list[Row]:
    """Delete topics all at once: one by one, each would wait for the disk several times."""
    asked = Counter((row["name"], row["topicId"]) for row in wanted)
    rows: list[Row] = []
    found: dict[str, bytes] = {}
    for name, topic_id in sorted(asked, key=lambda key: key[0] is not None):  # those given by id first, as in Kafka
        try:
            if asked[name, topic_id] > 1:
                raise RequestError(ErrorCode.INVALID_REQUEST, f"Duplicate topic {'id' if name is None else 'name'}.")
            topic = _found(request, context, name, topic_id)
        except OctavoError as error:
            rows.append({"name": name, "topicId": topic_id, **error_fields(error)})
            continue
        if found.pop(topic.name, None):
            rows.append({"name": name, "topicId": topic.topic_id, **error_fields(_BY_NAME_AND_ID)})
        else:
            found[topic.name] = topic.topic_id
    failures = _failures(context, list(found))
    return rows + [{"name": name, "topicId": topic_id, **failures.get(name, {})} for name, topic_id in found.items()]


def _failures(context: Context, names: list[str]) -> dict[str, Row]:
    """Delete topics; returns an error for each one that could not be deleted."""
    try:
        if names:
            context.log_dir.delete_topics(names)
    except UnknownTopicOrPartitionError as error:
        if len(names) == 1:
            return {names[0]: error_fields(error)}
        # Another request has just deleted one of the topics; that stopped this one before it deleted any.
        return {name: row for one in names for name, row in _failures(context, [one]).items()}
    except OctavoError as error:  # a disk has failed; topics without a partition on it are gone
        return dict.fromkeys((name for name in names if name in context.log_dir.topics), error_fields(error))
    return {}


def _found(request: Request, context: Context, name: str | None, topic_id: bytes) -> Topic:
    if not context.config.delete_topic_enable:
        raise RequestError(ErrorCode.TOPIC_DELETION_DISABLED)
    if name is not None and topic_id != ZERO_UUID:
        raise RequestError(ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")
    topic = context.catalog.with_id(topic_id).name if name is None else name
    context.check_writable(Operation.DELETE)
    if context.authorizer.allows_cluster(request.client, Operation.DELETE):
        return context.catalog.named(topic)
    context.topic(request.client, Operation.DESCRIBE, topic)  # a client that may describe it learns that it is missing
    return context.topic(request.client, Operation.DELETE, topic)
