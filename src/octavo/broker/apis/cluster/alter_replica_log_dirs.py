"""AlterReplicaLogDirs: chooses the directory for partitions that do not exist yet.

Unlike Kafka: a partition that exists is not moved (POLICY_VIOLATION), since a copy would have to be kept up to date
while clients write.
"""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.errors import RequestError
from octavo.broker.request import Answer, Later, Request
from octavo.broker.security.acls import Operation
from octavo.format.messages.schema import Row
from octavo.format.names import TopicPartition, by_topic, topic_problem
from octavo.format.protocol.error_codes import ErrorCode

_LONGEST_NAME = 255  # the limit for a folder's name
_FUTURE = f".{'0' * 32}-future"  # the suffix of the folder into which Kafka would copy the partition


def handle(request: Request, context: Context) -> Answer:
    wanted = {
        TopicPartition(topic["name"], number): row["path"]
        for row in request.body["dirs"]
        for topic in row["topics"]
        for number in topic["partitions"]
    }
    try:
        context.check_cluster(request.client, Operation.ALTER)
    except RequestError as error:
        return _answer(dict.fromkeys(wanted, error.code))
    return Later(lambda: _answer({one: _move(context, one, path) for one, path in wanted.items()}))


def _answer(codes: dict[TopicPartition, int]) -> Row:
    topics = by_topic((topic, {"partitionIndex": number, "errorCode": code}) for (topic, number), code in codes.items())
    return {"results": [{"topicName": topic, "partitions": rows} for topic, rows in topics.items()]}


def _move(context: Context, topic_partition: TopicPartition, path: str) -> int:
    if len(str(topic_partition) + _FUTURE) > _LONGEST_NAME:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    root = next((root for root in context.log_dir.roots if str(root.path.absolute()) == path), None)
    if root is None:
        return ErrorCode.LOG_DIR_NOT_FOUND
    if root.failure is not None:
        return ErrorCode.KAFKA_STORAGE_ERROR
    log = context.log_dir.logs.get(topic_partition)
    if log is None:
        if topic_problem(topic_partition.topic) is None:
            context.log_dir.prefer_directory(*topic_partition, root)
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if log.is_closed:
        return ErrorCode.KAFKA_STORAGE_ERROR
    return ErrorCode.NONE if log.folder.parent == root.path else ErrorCode.POLICY_VIOLATION
