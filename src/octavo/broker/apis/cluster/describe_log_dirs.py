"""DescribeLogDirs: lists the directories, and the partitions in each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from octavo.broker.context import Context
from octavo.broker.errors import RequestError
from octavo.broker.request import Answer, Later, Request
from octavo.broker.security.acls import Operation
from octavo.format.messages.schema import Row
from octavo.format.names import TopicPartition
from octavo.format.protocol.error_codes import ErrorCode
from octavo.storage.directory.log_root import LogRoot
from octavo.storage.partition_log import PartitionLog
from octavo.system.urls import UrlPath

_UNKNOWN = -1  # the size of a volume at a URL


def handle(request: Request, context: Context) -> Answer:
    wanted = request.body["topics"]
    named = None
    if wanted is not None:
        named = {TopicPartition(row["topic"], number) for row in wanted for number in row["partitions"]}

    try:
        context.check_cluster(request.client, Operation.DESCRIBE)
    except RequestError as error:
        return {"errorCode": error.code}

    def make() -> Row:
        logs = {one: log for one, log in context.log_dir.logs.items() if named is None or one in named}
        return {"results": [_directory(root, logs) for root in context.log_dir.roots]}

    return Later(make)


def _directory(root: LogRoot, logs: Mapping[TopicPartition, PartitionLog]) -> Row:
    row: Row = {"logDir": str(root.path.absolute()), "isCordoned": root.is_cordoned}
    if root.failure is not None:
        return {**row, "errorCode": ErrorCode.KAFKA_STORAGE_ERROR}
    topics: dict[str, list[Row]] = {}
    for (topic, partition), log in sorted(logs.items()):
        if log.folder.parent == root.path:
            topics.setdefault(topic, []).append({"partitionIndex": partition, "partitionSize": log.size})
    total, usable = _volume(root.path)
    rows = [{"name": topic, "partitions": partitions} for topic, partitions in topics.items()]
    return {**row, "topics": rows, "totalBytes": total, "usableBytes": usable}


def _volume(path: Path) -> tuple[int, int]:
    if isinstance(path, UrlPath):
        return _UNKNOWN, _UNKNOWN
    found = os.statvfs(path)
    return found.f_frsize * found.f_blocks, found.f_frsize * found.f_bavail
