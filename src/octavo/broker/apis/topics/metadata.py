"""Metadata: lists the broker, and the topics with their partitions; creates a topic when a client first asks for it.

Unlike Kafka: a topic that the request creates is in the answer at once, since no controller has to be waited for.
Internal topics are not created: FindCoordinator does that.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from octavo.broker.catalog import Topic
from octavo.broker.context import Context
from octavo.broker.errors import RequestError, code_of
from octavo.broker.request import Answer, Later, Request
from octavo.broker.rows import partition_row
from octavo.broker.security.acls import Operation
from octavo.errors import OctavoError
from octavo.format.kafka_uuid import ZERO_UUID
from octavo.format.messages.schema import Row
from octavo.format.names import INTERNAL_TOPICS, topic_problem
from octavo.format.protocol.error_codes import ErrorCode
from octavo.storage.partition_log import PartitionLog

IDS_FROM_VERSION = 12
_SHOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION)  # sent with what the client may do


def handle(request: Request, context: Context) -> Answer:
    wanted = request.body["topics"] or ()
    if request.version < IDS_FROM_VERSION and any(row["topicId"] != ZERO_UUID or row["name"] is None for row in wanted):
        rows = [{"errorCode": ErrorCode.INVALID_REQUEST, **row, "name": row["name"] or ""} for row in wanted]
        return {"topics": rows}
    names = [row["name"] for row in _wanted(wanted) if row["name"] and row["topicId"] == ZERO_UUID]
    missing = [name for name in names if _is_to_be_created(request, context, name)]
    if not missing:
        return _answer(request, context)

    def make() -> Row:
        for topic in missing:
            if not _may_create(request, context, topic):
                continue
            # If this fails, another client was faster, or the answer will say that the topic does not exist.
            with suppress(OctavoError):
                context.log_dir.create_topic(topic)
        return _answer(request, context)

    return Later(make)


def _is_to_be_created(request: Request, context: Context, name: str) -> bool:
    is_allowed = context.config.auto_create_topics_enable and not context.is_read_only
    if not is_allowed or not request.body["allowAutoTopicCreation"]:
        return False
    return name not in context.catalog.topics and name not in INTERNAL_TOPICS and topic_problem(name) is None


def _answer(request: Request, context: Context) -> Row:
    body, (host, port) = request.body, request.peer.endpoint
    wants_operations = body["includeTopicAuthorizedOperations"]
    row: Row = {
        "brokers": [{"nodeId": context.node_id, "host": host, "port": port}],
        "clusterId": context.cluster_id,
        "controllerId": context.node_id,
        "topics": [_topic(request, context, found, wants_operations) for found in _asked_for(request, context)],
    }
    if body["includeClusterAuthorizedOperations"]:
        row["clusterAuthorizedOperations"] = context.authorizer.allowed_on_cluster(request.client)
    return row


def _asked_for(request: Request, context: Context) -> Iterable[Topic | Row]:
    """The topics that the client asks for, and an error row for each one that it cannot have."""
    wanted, catalog = request.body["topics"], context.catalog
    if wanted is None or (request.version == 0 and not wanted):
        allows, client = context.authorizer.allows_topic, request.client
        return [topic for topic in catalog.topics.values() if allows(client, Operation.DESCRIBE, topic.name)]
    found: list[Topic | Row] = []
    for row in _wanted(wanted):
        try:
            if row["topicId"] != ZERO_UUID:
                found.append(context.topic(request.client, Operation.DESCRIBE, row["topicId"]))
            else:
                found.append(_by_name(request, context, row["name"]))
        except OctavoError as error:
            name = row["name"] if row["topicId"] == ZERO_UUID else None
            found.append({"errorCode": code_of(error), "name": name, "topicId": row["topicId"]})
    return found


def _wanted(rows: Iterable[Row]) -> Iterable[Row]:
    """Each topic once. As in Kafka, a request that has ids asks for nothing else."""
    by_id = {row["topicId"]: row for row in rows if row["topicId"] != ZERO_UUID}
    return (by_id or {row["name"]: row for row in rows}).values()


def _may_create(request: Request, context: Context, topic: str) -> bool:
    authorizer, client = context.authorizer, request.client
    return authorizer.allows_topic(client, Operation.DESCRIBE, topic) and (
        authorizer.allows_cluster(client, Operation.CREATE) or authorizer.allows_topic(client, Operation.CREATE, topic)
    )


def _by_name(request: Request, context: Context, name: str | None) -> Topic | Row:
    if name is None or topic_problem(name) is not None:
        return {"errorCode": ErrorCode.INVALID_TOPIC_EXCEPTION, "name": name}
    if _is_to_be_created(request, context, name) and not _may_create(request, context, name):
        raise RequestError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return context.topic(request.client, Operation.DESCRIBE, name)


def _topic(request: Request, context: Context, found: Topic | Row, wants_operations: bool) -> Row:
    if isinstance(found, dict):
        row, name = found, found["name"]
        is_shown = name is not None and row["errorCode"] in _SHOWN
    else:
        name, is_shown = found.name, True
        row = {
            "name": name,
            "topicId": found.topic_id,
            "isInternal": found.is_internal,
            "partitions": [_partition(partition, log, context) for partition, log in found.logs.items()],
        }
    if wants_operations and is_shown:
        row["topicAuthorizedOperations"] = context.authorizer.allowed_on_topic(request.client, name)
    return row


def _partition(partition: int, log: PartitionLog, context: Context) -> Row:
    row = partition_row(partition, log, context.node_id)
    return {**row, "errorCode": ErrorCode.LEADER_NOT_AVAILABLE} if row["offlineReplicas"] else row
