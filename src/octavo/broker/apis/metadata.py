"""Metadata: lists the broker, and the topics with their partitions; creates a topic that a client asks for first."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from octavo.broker.catalog import INTERNAL_TOPICS, Topic
from octavo.broker.context import Context
from octavo.broker.errors import code_of
from octavo.broker.request import Answer, Later, Request
from octavo.broker.rows import partition_row
from octavo.errors import OctavoError
from octavo.format.kafka_uuid import ZERO_UUID
from octavo.format.messages.schema import Row
from octavo.format.names import topic_problem
from octavo.format.protocol.error_codes import ErrorCode

IDS_FROM_VERSION = 12
ALL_OPERATIONS_ON_TOPICS = 3576  # one bit for each operation that topics have
ALL_OPERATIONS_ON_CLUSTERS = 8096


def handle(request: Request, context: Context) -> Answer:
    wanted = request.body["topics"] or ()
    if request.version < IDS_FROM_VERSION and any(row["topicId"] != ZERO_UUID for row in wanted):
        rows = [{"errorCode": ErrorCode.INVALID_REQUEST, **row, "name": row["name"] or ""} for row in wanted]
        return {"topics": rows}
    missing = _to_create(request, context)
    if not missing:
        return _answer(request, context)

    def make() -> Row:
        for topic in missing:
            # another client was faster, or the answer will say that the topic does not exist
            with suppress(OctavoError):
                context.logs.create_topic(topic)
        return _answer(request, context)

    return Later(make)


def _to_create(request: Request, context: Context) -> list[str]:
    if not (request.body["topics"] and context.config.auto_create_topics_enable):
        return []
    if not request.body["allowAutoTopicCreation"]:
        return []
    names = [row["name"] for row in request.body["topics"] if row["name"] and row["topicId"] == ZERO_UUID]
    known = context.catalog.topics
    return [name for name in names if name not in known and name not in INTERNAL_TOPICS and topic_problem(name) is None]


def _answer(request: Request, context: Context) -> Row:
    body, (host, port) = request.body, request.peer.endpoint
    wants_operations = body["includeTopicAuthorizedOperations"]
    row: Row = {
        "brokers": [{"nodeId": context.node_id, "host": host, "port": port}],
        "clusterId": context.cluster_id,
        "controllerId": context.node_id,
        "topics": [_topic(found, context, wants_operations) for found in _asked_for(request, context)],
    }
    if body["includeClusterAuthorizedOperations"]:
        row["clusterAuthorizedOperations"] = ALL_OPERATIONS_ON_CLUSTERS
    return row


def _asked_for(request: Request, context: Context) -> Iterable[Topic | Row]:
    """The topics, and rows for those that do not exist."""
    wanted, catalog = request.body["topics"], context.catalog
    if wanted is None or (request.version == 0 and not wanted):
        return catalog.topics.values()
    found: list[Topic | Row] = []
    for row in {(row["topicId"], row["name"]): row for row in wanted}.values():
        try:
            if row["topicId"] != ZERO_UUID:
                found.append(catalog.with_id(row["topicId"]))
            else:
                found.append(_by_name(row["name"], context))
        except OctavoError as error:
            found.append({"errorCode": code_of(error), "name": row["name"], "topicId": row["topicId"]})
    return found


def _by_name(name: str | None, context: Context) -> Topic | Row:
    if name is None or topic_problem(name) is not None:
        return {"errorCode": ErrorCode.INVALID_TOPIC_EXCEPTION, "name": name}
    return context.catalog.named(name)


def _topic(found: Topic | Row, context: Context, wants_operations: bool) -> Row:
    if isinstance(found, dict):
        return found
    row: Row = {
        "name": found.name,
        "topicId": found.topic_id,
        "isInternal": found.is_internal,
        "partitions": [partition_row(partition, log, context.node_id) for partition, log in found.logs.items()],
    }
    if wants_operations:
        row["topicAuthorizedOperations"] = ALL_OPERATIONS_ON_TOPICS
    return row
