"""DescribeTopicPartitions: lists the partitions of topics by name, page by page."""

from __future__ import annotations

from octavo.broker.catalog import Topic
from octavo.broker.context import Context
from octavo.broker.request import Answer, Request
from octavo.broker.rows import partition_row
from octavo.broker.security.acls import Operation
from octavo.format.messages.schema import Row
from octavo.format.names import topic_problem
from octavo.format.protocol.error_codes import ErrorCode

_MOST_PARTITIONS = 2000


def handle(request: Request, context: Context) -> Answer:
    body, known = request.body, context.catalog.topics
    names = sorted({row["name"] for row in body["topics"]}) if body["topics"] else list(known)
    cursor = body["cursor"] or {"topicName": "", "partitionIndex": 0}
    if cursor["partitionIndex"] < 0 or (body["cursor"] and body["topics"] and cursor["topicName"] not in names):
        return {"topics": [{"errorCode": ErrorCode.INVALID_REQUEST, "name": row["name"]} for row in body["topics"]]}
    names = [name for name in names if name >= cursor["topicName"]]
    left = max(min(body["responsePartitionLimit"], _MOST_PARTITIONS), 1)
    rows: list[Row] = []
    for name in names:
        first = cursor["partitionIndex"] if name == cursor["topicName"] else 0
        topic = known.get(name)
        if not context.authorizer.allows_topic(request.client, Operation.DESCRIBE, name):
            if body["topics"]:
                rows.append({"errorCode": ErrorCode.TOPIC_AUTHORIZATION_FAILED, "name": name})
            continue
        if left <= 0:
            return {"topics": rows, "nextCursor": {"topicName": name, "partitionIndex": 0}}
        operations = {"topicAuthorizedOperations": context.authorizer.allowed_on_topic(request.client, name)}
        if topic is None:
            rows.append({**_unknown(name), **operations})
            continue
        partitions = [partition for partition in topic.logs if partition >= first]
        rows.append({**_topic(topic, partitions[:left], context), **operations})
        if len(partitions) > left:
            return {"topics": rows, "nextCursor": {"topicName": name, "partitionIndex": partitions[left]}}
        left -= len(partitions)
    return {"topics": rows, "nextCursor": None}


def _unknown(name: str) -> Row:
    is_valid = topic_problem(name) is None
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_valid else ErrorCode.INVALID_TOPIC_EXCEPTION
    return {"errorCode": code, "name": name}


def _topic(topic: Topic, partitions: list[int], context: Context) -> Row:
    return {
        "name": topic.name,
        "topicId": topic.topic_id,
        "isInternal": topic.is_internal,
        "partitions": [
            _partition(partition_row(partition, topic.logs[partition], context.node_id)) for partition in partitions
        ],
    }


def _partition(row: Row) -> Row:
    """Add the eligible leaders: a replica that was in sync when its disk failed may lead again."""
    offline = row["offlineReplicas"]
    return {**row, "eligibleLeaderReplicas": offline, "lastKnownElr": offline}
