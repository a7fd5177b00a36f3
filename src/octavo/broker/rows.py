"""The parts of requests and responses that name partitions by topic."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from octavo.format.messages.schema import Row
from octavo.storage.partition_log import PartitionLog


def partition_row(partition: int, log: PartitionLog, node_id: int) -> Row:
    """A partition as shown to clients: its only replica is here, and leads."""
    return {
        "partitionIndex": partition,
        "leaderId": node_id,
        "leaderEpoch": log.leader_epoch,
        "replicaNodes": [node_id],
        "isrNodes": [node_id],
    }


def by_topic(topics: Iterable[Row], name: str, answer: Callable[[str, Row], Row]) -> list[Row]:
    """A response's topics: for each partition of a request's, what `answer` says to the topic and the partition."""
    return [
        {name: topic[name], "partitions": [answer(topic[name], row) for row in topic["partitions"]]} for topic in topics
    ]
