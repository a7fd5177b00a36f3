"""AlterReplicaLogDirs with two directories: where new partitions go, and that existing ones stay where they are."""

from __future__ import annotations

from pathlib import Path

import octavo
from octavo.broker.broker import Broker
from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from octavo.format.protocol.error_codes import ErrorCode
from tests.broker.raw import RawClient


def alter(broker: Broker, path: Path, topic: str, partitions: list[int]) -> list[int]:
    body = {"dirs": [{"path": str(path), "topics": [{"name": topic, "partitions": partitions}]}]}
    with RawClient(broker.address) as client:
        answer: Row = client.ask(apis.ALTER_REPLICA_LOG_DIRS, 2, body) or {}
    return [row["errorCode"] for row in answer["results"][0]["partitions"]]


def test_a_new_partition_goes_where_it_was_said_to_go(tmp_path: Path) -> None:
    paths = [tmp_path / "one", tmp_path / "two"]
    with octavo.LogDir(paths, create=True) as logs, Broker(logs) as broker:
        assert alter(broker, paths[1], "t", [0, 1, 2]) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 3
        logs.create_topic("t", 4)
        assert [logs.log("t", partition).folder.parent for partition in range(4)] == [paths[1]] * 3 + [paths[0]]


def test_a_partition_that_exists_is_not_moved(tmp_path: Path) -> None:
    paths = [tmp_path / "one", tmp_path / "two"]
    with octavo.LogDir(paths, create=True) as logs, Broker(logs) as broker:
        logs.create_topic("t", 2)
        assert alter(broker, paths[0], "t", [0, 1]) == [ErrorCode.NONE, ErrorCode.POLICY_VIOLATION]
        assert alter(broker, tmp_path, "t", [0, 1]) == [ErrorCode.LOG_DIR_NOT_FOUND] * 2
