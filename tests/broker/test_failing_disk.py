"""One of a broker's two disks dies: its partitions answer with an error, and those of the other are served."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from typing_extensions import Buffer

import octavo
from octavo.broker.broker import Broker
from octavo.format.protocol.apis import (
    ALTER_REPLICA_LOG_DIRS,
    DELETE_TOPICS,
    DESCRIBE_LOG_DIRS,
    DESCRIBE_TOPIC_PARTITIONS,
    FETCH,
    LIST_OFFSETS,
    METADATA,
    PRODUCE,
)
from octavo.format.protocol.error_codes import ErrorCode
from octavo.storage.environment import Environment
from octavo.system.filesystem import File, LocalFile, LocalFileSystem
from tests.broker.raw import RawClient
from tests.broker.requests import batch, fetching, produced
from tests.storage.worlds import World


class MortalDisks(LocalFileSystem):
    """Files can be read and written until their disk is among the dead ones."""

    def __init__(self) -> None:
        self.dead: set[Path] = set()

    def open(self, path: Path, *, create: bool = False) -> File:
        self.check(path)
        return MortalFile(self, path, create=create)

    def check(self, path: Path) -> None:
        if not self.dead.isdisjoint(path.parents):
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))


class MortalFile(LocalFile):
    def __init__(self, disks: MortalDisks, path: Path, *, create: bool = False) -> None:
        super().__init__(path, create=create)
        self._disks = disks
        self._path = path

    def pread(self, length: int, position: int) -> bytes:
        self._disks.check(self._path)
        return super().pread(length, position)

    def pread_into(self, buffer: memoryview, position: int) -> int:
        self._disks.check(self._path)
        return super().pread_into(buffer, position)

    def pwrite(self, data: Buffer, position: int) -> None:
        self._disks.check(self._path)
        super().pwrite(data, position)

    def fsync(self) -> None:
        self._disks.check(self._path)
        super().fsync()


@pytest.fixture
def disks() -> MortalDisks:
    return MortalDisks()


@pytest.fixture
def logs(tmp_path: Path, disks: MortalDisks) -> Iterator[octavo.LogDir]:
    """A topic with a partition on each of two disks."""
    world = World()
    environment = Environment(world.scheduler, world.clock, disks)
    with octavo.LogDir([tmp_path / "one", tmp_path / "two"], create=True, environment=environment) as logs:
        logs.create_topic("t", 2)
        yield logs


def test_a_failing_disk_fails_its_partitions_alone(
    client: RawClient, broker: Broker, disks: MortalDisks, tmp_path: Path
) -> None:
    assert [produce(client, partition) for partition in (0, 1)] == [0, 0]
    disks.dead.add(tmp_path / "one")
    assert [produce(client, partition) for partition in (0, 1, 0, 1)] == [ErrorCode.KAFKA_STORAGE_ERROR, 0] * 2
    assert fetched(client) == {0: (ErrorCode.KAFKA_STORAGE_ERROR, 0), 1: (0, 3)}
    assert ends(client) == {0: (ErrorCode.KAFKA_STORAGE_ERROR, -1), 1: (0, 3)}
    answer = client.ask(DESCRIBE_LOG_DIRS, 4, {"topics": None})
    assert answer is not None
    codes = {row["logDir"]: row["errorCode"] for row in answer["results"]}
    assert codes == {str(tmp_path / "one"): ErrorCode.KAFKA_STORAGE_ERROR, str(tmp_path / "two"): 0}


def test_a_topic_on_a_failed_disk_does_not_keep_others_from_being_deleted(
    client: RawClient, logs: octavo.LogDir, disks: MortalDisks, tmp_path: Path
) -> None:
    logs.create_topic("sound", 1)
    disks.dead.update({tmp_path / "one", tmp_path / "two"} - {logs.log("sound", 0).folder.parent})
    assert ErrorCode.KAFKA_STORAGE_ERROR in [produce(client, partition) for partition in (0, 1)]
    answer = client.ask(DELETE_TOPICS, 6, {"topics": [{"name": name} for name in ("t", "sound")], "timeoutMs": 5000})
    assert answer is not None
    codes = {row["name"]: row["errorCode"] for row in answer["responses"]}
    assert codes == {"t": ErrorCode.KAFKA_STORAGE_ERROR, "sound": 0}
    assert "sound" not in logs.topics


def test_a_partition_of_a_failed_disk_has_no_leader(client: RawClient, disks: MortalDisks, tmp_path: Path) -> None:
    disks.dead.add(tmp_path / "one")
    assert produce(client, 0) == ErrorCode.KAFKA_STORAGE_ERROR
    told = [(ErrorCode.LEADER_NOT_AVAILABLE, -1, [], [1]), (0, 1, [1], [])]  # as Kafka 4.3.1 shows it
    for api, version in ((METADATA, 12), (DESCRIBE_TOPIC_PARTITIONS, 0)):
        answer = client.ask(api, version, {"topics": [{"name": "t"}]})
        assert answer is not None
        rows = answer["topics"][0]["partitions"]
        fields = ("errorCode", "leaderId", "isrNodes", "offlineReplicas")
        expected = told if api is METADATA else [(0, *row[1:]) for row in told]
        assert [tuple(row[name] for name in fields) for row in rows] == expected
    assert [row["eligibleLeaderReplicas"] for row in rows] == [[1], []]
    asked = [{"path": str(tmp_path / "two"), "topics": [{"name": "t", "partitions": [0, 1]}]}]
    moved = client.ask(ALTER_REPLICA_LOG_DIRS, 2, {"dirs": asked})
    assert moved is not None
    assert [row["errorCode"] for row in moved["results"][0]["partitions"]] == [ErrorCode.KAFKA_STORAGE_ERROR, 0]


def test_a_waiting_fetch_is_answered_when_its_disk_dies(
    client: RawClient, broker: Broker, disks: MortalDisks, tmp_path: Path
) -> None:
    with RawClient(broker.address) as other:
        client.send(FETCH, 11, fetching("t", 0, maxWaitMs=60_000))
        disks.dead.add(tmp_path / "one")
        assert produce(other, 0) == ErrorCode.KAFKA_STORAGE_ERROR
        frame = client.receive()
    assert frame is not None
    (row,) = client.read(FETCH, 11, frame)["responses"][0]["partitions"]
    assert row["errorCode"] == ErrorCode.KAFKA_STORAGE_ERROR


def produce(client: RawClient, partition: int) -> int:
    answer = client.ask(PRODUCE, 9, produced("t", partition, batch("x")))
    assert answer is not None
    code: int = answer["responses"][0]["partitionResponses"][0]["errorCode"]
    return code


def fetched(client: RawClient) -> dict[int, tuple[int, int]]:
    """The error code and the number of batches of each partition."""
    answer = client.ask(FETCH, 11, fetching("t", 0, 1))
    assert answer is not None
    rows = answer["responses"][0]["partitions"]
    return {
        row["partitionIndex"]: (row["errorCode"], len(bytes(row["records"] or b"")) // len(batch("x"))) for row in rows
    }


def ends(client: RawClient) -> dict[int, tuple[int, int]]:
    rows = [{"partitionIndex": partition, "timestamp": -1} for partition in (0, 1)]
    answer = client.ask(LIST_OFFSETS, 5, {"replicaId": -1, "topics": [{"name": "t", "partitions": rows}]})
    assert answer is not None
    found = answer["topics"][0]["partitions"]
    return {row["partitionIndex"]: (row["errorCode"], row["offset"]) for row in found}
