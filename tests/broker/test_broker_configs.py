"""Broker configs that clients change while the broker runs are kept, and take effect at once."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import octavo
from octavo.broker.broker import Broker
from octavo.errors import ConfigError, CorruptionError, KafkaStorageError, LogDirError
from octavo.format.messages.schema import Row
from octavo.format.names import BROKER_STORE
from octavo.format.protocol import apis
from octavo.format.protocol.error_codes import ErrorCode
from tests.broker.raw import RawClient

BROKER = 4


def alter(client: RawClient, name: str, value: str | None, broker: str = "1") -> int:
    config = {"name": name, "configOperation": 1 if value is None else 0, "value": value}
    resource = {"resourceType": BROKER, "resourceName": broker, "configs": [config]}
    answer: Row = client.ask(apis.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [resource]}) or {}
    return int(answer["responses"][0]["errorCode"])


def test_they_are_kept_and_override_what_is_given(tmp_path: Path) -> None:
    given = {"log.retention.ms": 1000, "message.max.bytes": 5000}
    with octavo.LogDir(tmp_path / "logs", configs=given, create=True) as logs, Broker(logs) as broker:
        logs.create_topic("t")
        with RawClient(broker.address) as client:
            assert alter(client, "log.retention.ms", "2000") == ErrorCode.NONE
            assert alter(client, "message.max.bytes", "6000", broker="") == ErrorCode.NONE
            assert alter(client, "message.max.bytes", "7000") == ErrorCode.NONE
        assert (logs.log("t", 0).config.retention_ms, logs.log("t", 0).config.max_message_bytes) == (2000, 7000)
    with octavo.LogDir(tmp_path / "logs", configs=given) as logs, Broker(logs) as broker:
        assert (logs.config("t").retention_ms, logs.config("t").max_message_bytes) == (2000, 7000)
        with RawClient(broker.address) as client:
            assert alter(client, "message.max.bytes", None) == ErrorCode.NONE
            assert alter(client, "log.retention.ms", None) == ErrorCode.NONE
        assert (logs.config("t").retention_ms, logs.config("t").max_message_bytes) == (1000, 6000)


def test_a_topic_keeps_its_own(tmp_path: Path) -> None:
    with octavo.LogDir(tmp_path / "logs", create=True) as logs:
        logs.create_topic("own", configs={"retention.ms": 1})
        logs.create_topic("t")
        logs.alter_broker_configs({"log.retention.ms": "2000"})
        assert [logs.log(topic, 0).config.retention_ms for topic in ("own", "t")] == [1, 2000]


def test_a_directory_that_does_not_exist_yet_is_not_called_offline(tmp_path: Path) -> None:
    problem = r"logs: octavo-broker\.json cannot be changed: the directory does not exist yet"
    with octavo.LogDir(tmp_path / "logs") as logs, pytest.raises(KafkaStorageError, match=problem):
        logs.alter_broker_configs({"log.retention.ms": "2000"})


def test_the_number_of_connections_changes_at_once(tmp_path: Path) -> None:
    with Broker(tmp_path / "logs") as broker, RawClient(broker.address) as client:
        assert alter(client, "max.connections", "1") == ErrorCode.NONE
        with RawClient(broker.address) as refused:
            assert refused.receive() is None
        assert alter(client, "max.connections", None) == ErrorCode.NONE
        with RawClient(broker.address) as second:
            assert second.ask(apis.API_VERSIONS, 0, {}) is not None


def test_a_cordoned_directory_gets_no_new_partition(tmp_path: Path) -> None:
    paths = [tmp_path / "one", tmp_path / "two"]
    with octavo.LogDir(paths, create=True) as logs:
        logs.alter_broker_configs({"cordoned.log.dirs": str(paths[0])})
        logs.create_topic("t", 3)
        assert {log.folder.parent for log in logs.logs.values()} == {paths[1]}
        with pytest.raises(ConfigError):
            logs.alter_broker_configs({"cordoned.log.dirs": "/no/such"})


def test_a_cordoned_directory_may_be_away(tmp_path: Path) -> None:
    paths = [tmp_path / "one", tmp_path / "two"]
    with octavo.LogDir(paths, create=True) as logs:
        logs.alter_broker_configs({"cordoned.log.dirs": str(paths[0])})
    with octavo.LogDir(paths[1:]) as logs:
        logs.alter_broker_configs({"log.retention.ms": "1"})
        assert logs.broker_sources.of_broker == {"cordoned.log.dirs": str(paths[0]), "log.retention.ms": "1"}


def test_more_cleaner_threads_leave_others_their_threads(tmp_path: Path) -> None:
    """The scheduler gets as many more threads as the cleaner, and keeps them."""

    def threads() -> set[threading.Thread]:
        return {thread for thread in threading.enumerate() if thread.name.startswith("octavo-scheduler")}

    before = threads()
    with octavo.LogDir(tmp_path / "logs", create=True) as logs:
        began = len(threads() - before)
        for count in ("4", "2", "4"):
            logs.alter_broker_configs({"log.cleaner.threads": count})
            assert len(threads() - before) == began + 3


def test_how_clients_connect_is_fixed_at_the_start(tmp_path: Path) -> None:
    with Broker(tmp_path / "logs") as broker, RawClient(broker.address) as client:
        for name in ("listeners", "sasl.enabled.mechanisms", "listener.name.plaintext.ssl.client.auth"):
            assert alter(client, name, "PLAINTEXT://:0") == ErrorCode.INVALID_REQUEST


def test_an_id_that_is_not_the_brokers_is_refused(tmp_path: Path) -> None:
    with Broker(tmp_path / "logs") as broker, RawClient(broker.address) as client:
        for name in ("x", "2", "9" * 5000):
            assert alter(client, "log.retention.ms", "1", broker=name) == ErrorCode.INVALID_REQUEST


def test_a_read_only_broker_refuses_them(tmp_path: Path) -> None:
    with octavo.LogDir(tmp_path / "logs", create=True):
        pass
    with Broker(tmp_path / "logs", read_only=True) as broker, RawClient(broker.address) as client:
        assert alter(client, "log.retention.ms", "1") == ErrorCode.POLICY_VIOLATION
    assert not (tmp_path / "logs" / BROKER_STORE).exists()


def test_the_last_change_counts_if_a_disk_was_away(tmp_path: Path) -> None:
    paths = [tmp_path / "one", tmp_path / "two"]
    with octavo.LogDir(paths, create=True) as logs:
        logs.alter_broker_configs({"log.retention.ms": "1"})
    with octavo.LogDir(paths[1:]) as logs:
        logs.alter_broker_configs({"log.retention.ms": "2"})
    with octavo.LogDir(paths) as logs:
        assert logs.broker_sources.of_broker == {"log.retention.ms": "2"}


@pytest.mark.parametrize("content", ["", "[]", '{"version":0,"revision":1}', '{"version":9,"revision":1}',
    '{"version":0,"revision":1,"broker":{"a":1},"cluster":{}}'])  # fmt: skip
def test_a_damaged_file_is_refused(tmp_path: Path, content: str) -> None:
    with octavo.LogDir(tmp_path / "logs", create=True):
        pass
    (tmp_path / "logs" / BROKER_STORE).write_text(content)
    with pytest.raises(CorruptionError, match=BROKER_STORE):
        octavo.LogDir(tmp_path / "logs")


def test_the_id_of_the_broker_is_kept_and_cannot_change(tmp_path: Path) -> None:
    for _ in range(2):
        with octavo.LogDir(tmp_path / "logs", configs={"node.id": 7}, create=True) as logs, Broker(logs) as broker:
            with RawClient(broker.address) as client:
                answer: Row = client.ask(apis.METADATA, 9, {"topics": []}) or {}
            assert (logs.node_id, answer["controllerId"]) == (7, 7)
    with pytest.raises(LogDirError, match=r"node\.id is 7 in its meta\.properties, expected 8"):
        octavo.LogDir(tmp_path / "logs", configs={"node.id": 8})
    with octavo.LogDir(tmp_path / "logs") as logs:
        assert logs.node_id == 7
