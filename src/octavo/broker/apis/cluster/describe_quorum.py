"""DescribeQuorum: names this node as the only voter and the leader.

Unlike Kafka: all offsets are 0, since this broker writes no metadata log.
"""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.request import Request, later
from octavo.broker.rows import topic_rows
from octavo.broker.security.acls import Operation
from octavo.format.kafka_uuid import ZERO_UUID
from octavo.format.messages.schema import Row
from octavo.format.names import CLUSTER_METADATA_TOPIC
from octavo.format.protocol.error_codes import ErrorCode

_WHOLE_QUORUM = [{"topicName": CLUSTER_METADATA_TOPIC, "partitions": [{"partitionIndex": 0}]}]
_NODES_FROM_VERSION = 2
_LEADER_EPOCH = 1  # of the first leader
_LISTENER = "CONTROLLER"  # Kafka's usual name for the listener of its quorum


@later
def handle(request: Request, context: Context) -> Row:
    asked = request.body["topics"]
    context.check_cluster(request.client, Operation.DESCRIBE)
    if asked != _WHOLE_QUORUM:
        return {"topics": topic_rows(asked, "topicName", _unknown)}
    now, (host, port) = context.log_dir.environment.clock.time_ms(), request.peer.endpoint
    voter: Row = {"replicaId": context.node_id, "lastFetchTimestamp": now, "lastCaughtUpTimestamp": now}
    partition = {"leaderId": context.node_id, "leaderEpoch": _LEADER_EPOCH, "currentVoters": [voter]}
    answer: Row = {"topics": [{"topicName": CLUSTER_METADATA_TOPIC, "partitions": [partition]}]}
    if request.version >= _NODES_FROM_VERSION:
        voter["replicaDirectoryId"] = context.log_dir.directory_id or ZERO_UUID
        listener = {"name": _LISTENER, "host": host, "port": port}
        answer["nodes"] = [{"nodeId": context.node_id, "listeners": [listener]}]
    return answer


def _unknown(topic: str, row: Row) -> Row:
    problem = "This server does not host this topic-partition."
    return {**row, "errorCode": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "errorMessage": problem}
