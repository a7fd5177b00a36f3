"""DescribeLogDirs: lists the directories, and the partitions in each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from octavo.broker.context import Context
from octavo.broker.request import Request, later
from octavo.broker.security.acls import Operation
from octavo.format.messages.schema import Row
from octavo.format.names import TopicPartition, by_topic
from octavo.format.protocol.error_codes import ErrorCode
from octavo.storage.directory.log_root import LogRoot
from octavo.storage.partition_log import PartitionLog
from octavo.system.urls import UrlPath

_UNKNOWN = -1  # the size of a volume at a URL


@later
def handle(request: Request, context: Context) -> Row:
    wanted = request.body["topics"]
    named = {(row["topic"], number) for row in wanted or () for number in row["partitions"]}
    context.check_cluster(request.client, Operation.DESCRIBE)
    logs = {one: log for one, log in context.log_dir.logs.items() if wanted is None or one in named}
    return {"results": [_directory(root, logs) for root in context.log_dir.roots]}


def _directory(root: LogRoot, logs: Mapping[TopicPartition, PartitionLog]) -> Row:
    row: Row = {"logDir": str(root.path.absolute()), "isCordoned": root.is_cordoned}
    if root.failure is not None:
        return {**row, "errorCode": ErrorCode.KAFKA_STORAGE_ERROR}
    topics = by_topic(
        (topic, {"partitionIndex": partition, "partitionSize": log.size})
        for (topic, partition), log in sorted(logs.items())
        if log.folder.parent == root.path
    )
    total, usable = _volume(root.path)
    rows = [{"name": topic, "partitions": partitions} for topic, partitions in topics.items()]
    return {**row, "topics": rows, "totalBytes": total, "usableBytes": usable}


def _volume(path: Path) -> tuple[int, int]:
    if isinstance(path, UrlPath):
        return _UNKNOWN, _UNKNOWN
    found = os.statvfs(path)
    return found.f_frsize * found.f_blocks, found.f_frsize * found.f_bavail
