"""The parts of requests and responses that list partitions by topic."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from octavo.format.messages.schema import Row
from octavo.storage.partition_log import PartitionLog

_NO_LEADER = -1


def partition_row(partition: int, log: PartitionLog, node_id: int) -> Row:
    """A partition as shown to clients: its only replica is here, and leads, unless its disk has failed."""
    is_offline = log.is_closed
    return {
        "partitionIndex": partition,
        "leaderId": _NO_LEADER if is_offline else node_id,
        "leaderEpoch": log.leader_epoch,
        "replicaNodes": [node_id],
        "isrNodes": [] if is_offline else [node_id],
        "offlineReplicas": [node_id] if is_offline else [],
    }


def topic_rows(topics: Iterable[Row], name: str, answer: Callable[[str, Row], Row]) -> list[Row]:
    """The topics of a response: `answer` makes the row for each topic and partition of the request."""
    return [
        {name: topic[name], "partitions": [answer(topic[name], row) for row in topic["partitions"]]} for topic in topics
    ]
