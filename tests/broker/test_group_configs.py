"""Configs of groups: they are kept, and decide how long the members of a group may be silent."""

from __future__ import annotations

from pathlib import Path

import pytest

import octavo
from octavo.broker.broker import Broker
from octavo.coordinator.groups.configs import GroupConfigs
from octavo.errors import ConfigError, CorruptionError
from octavo.format.messages.schema import Row
from octavo.format.names import GROUP_STORE
from octavo.format.protocol import apis
from octavo.format.protocol.error_codes import ErrorCode
from octavo.testing import Kafka
from tests.broker.raw import RawClient
from tests.testing.brokers import address

GROUP = 32
SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"


def alter(client: RawClient, group: str, configs: dict[str, str]) -> int:
    rows = [{"name": name, "configOperation": 0, "value": value} for name, value in configs.items()]
    resource = {"resourceType": GROUP, "resourceName": group, "configs": rows}
    answer: Row = client.ask(apis.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [resource]}) or {}
    return int(answer["responses"][0]["errorCode"])


def join(client: RawClient, group: str) -> Row:
    body = {"groupId": group, "memberId": "m", "memberEpoch": 0, "rebalanceTimeoutMs": 60_000,
            "subscribedTopicNames": ["t"], "topicPartitions": []}  # fmt: skip
    return client.ask(apis.CONSUMER_GROUP_HEARTBEAT, 1, body) or {}


def test_they_are_kept(tmp_path: Path) -> None:
    for is_first in (True, False):
        logs = octavo.LogDir(tmp_path / "logs", create=True)
        with logs, Broker(logs) as broker, RawClient(broker.address) as client:
            if is_first:
                assert alter(client, "g", {HEARTBEAT: "6000"}) == ErrorCode.NONE
            assert [join(client, group)["heartbeatIntervalMs"] for group in ("g", "h")] == [6000, 5000]


def test_a_member_may_be_silent_for_as_long_as_its_group_says() -> None:
    with Kafka() as kafka, RawClient(address(kafka)) as client:
        assert alter(client, "g", {SESSION: "60000"}) == ErrorCode.NONE
        for group in ("g", "h"):
            join(client, group)
        kafka.clock.advance(seconds=50)
        body = {"groupIds": ["g", "h"]}
        described = (client.ask(apis.CONSUMER_GROUP_DESCRIBE, 0, body) or {})["groups"]
        assert [len(row["members"]) for row in described] == [1, 0]


def test_the_range_that_the_broker_allows(tmp_path: Path) -> None:
    """A value outside of it is refused; one that is outside because the range has changed is moved into it."""
    wide = {"group.consumer.min.heartbeat.interval.ms": 100, "group.consumer.min.session.timeout.ms": 1000}
    with octavo.LogDir(tmp_path / "logs", configs=wide, create=True) as logs:
        configs = GroupConfigs(logs)
        configs.alter("g", {HEARTBEAT: "200", SESSION: "2000"})
        with pytest.raises(ConfigError, match="greater than"):
            configs.alter("g", {HEARTBEAT: "2000"})
        with pytest.raises(ConfigError, match="100 to 15000"):
            configs.alter("g", {HEARTBEAT: "99"})
        assert configs.broker_config("g").group_consumer_heartbeat_interval_ms == 200
    with octavo.LogDir(tmp_path / "logs") as logs:
        config = GroupConfigs(logs).broker_config("g")
        assert config.group_consumer_heartbeat_interval_ms == 5000
        assert config.group_consumer_session_timeout_ms == 45_000


def test_a_read_only_broker_refuses_them(tmp_path: Path) -> None:
    with octavo.LogDir(tmp_path / "logs", create=True):
        pass
    with Broker(tmp_path / "logs", read_only=True) as broker, RawClient(broker.address) as client:
        assert alter(client, "g", {HEARTBEAT: "6000"}) == ErrorCode.POLICY_VIOLATION
    assert not (tmp_path / "logs" / GROUP_STORE).exists()


@pytest.mark.parametrize("groups", ["1", '{"g":1}', f'{{"g":{{"{HEARTBEAT}":"soon"}}}}'])
def test_a_damaged_file_is_refused(tmp_path: Path, groups: str) -> None:
    with octavo.LogDir(tmp_path / "logs", create=True) as logs:
        (tmp_path / "logs" / GROUP_STORE).write_text(f'{{"version":0,"revision":1,"groups":{groups}}}')
        with pytest.raises(CorruptionError, match=GROUP_STORE):
            Broker(logs)
