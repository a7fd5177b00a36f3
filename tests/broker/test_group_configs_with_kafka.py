"""Configs of groups: the same requests to a real Kafka 4.3.1 and to ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import octavo
from octavo.config.groups import GROUP_CONFIGS
from octavo.coordinator.groups.configs import GroupConfigs
from octavo.format.protocol import apis
from tests.broker.altering import ConfigResources
from tests.broker.raw import RawClient
from tests.broker.twin import UNORDERED, Twin
from tests.interop.broker import Broker as KafkaBroker

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("broker")]

GROUP = 32
SET, DELETE, APPEND, SUBTRACT = range(4)
alter, replace = ConfigResources(GROUP).alter, ConfigResources(GROUP).replace
SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
PROPERTIES = {"group.consumer.max.session.timeout.ms": "50000", "group.consumer.max.heartbeat.interval.ms": "45000"}


class ConfigTwin(Twin):
    unordered = frozenset(UNORDERED | {"configResources"})


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConfigTwin]:
    with ConfigTwin.started(tmp_path_factory.mktemp("groups"), {"t": 1}, PROPERTIES) as both:
        yield both


def eventually_same(twin: Twin, *groups: str) -> None:
    """Compare what groups show, and which are listed, once the real broker has learned of the last change."""
    for group in groups:
        for keys in (None, [SESSION, "no.such"]):
            resource = {"resourceType": GROUP, "resourceName": group, "configurationKeys": keys}
            for version in apis.DESCRIBE_CONFIGS.versions:
                for with_synonyms in (True, False):
                    body: dict[str, Any] = {"resources": [resource], "includeSynonyms": with_synonyms}
                    twin.eventually(apis.DESCRIBE_CONFIGS, version, body)
    twin.eventually(apis.LIST_CONFIG_RESOURCES, 1, {"resourceTypes": [GROUP]})
    twin.eventually(apis.LIST_CONFIG_RESOURCES, 1, {"resourceTypes": []})
    twin.eventually(apis.LIST_CONFIG_RESOURCES, 0, {"resourceTypes": []})


@pytest.mark.parametrize("name", [*GROUP_CONFIGS, "no.such", "retention.ms"])
def test_which_values_a_config_may_have(twin: Twin, name: str) -> None:
    for value in (
        *("", "x", "-1", "0", "1", "2", "3", "10", "11", "99", "100", "4000", "4001", "true", "False"),
        *("4999", "5000", "14999", "15000", "15001", "44999", "45000", "50000", "50001", "60000", "60001"),
        *("earliest", "LATEST", "none", "by_duration:PT1H", "BY_DURATION:p1dt2h", "by_duration:-PT1H", "by_duration:P"),
        *("read_committed", "READ_COMMITTED", "3000000000", None),
    ):
        alter(twin, "g", (name, SET, value), dry_run=True)
    for operation in (DELETE, APPEND, SUBTRACT):
        alter(twin, "g", (name, operation, "1"), dry_run=True)


def test_what_can_be_changed(twin: Twin) -> None:
    for group in ("g", "", "a group/ü"):
        alter(twin, group, dry_run=True)
        alter(twin, group, (SESSION, SET, "50000"), dry_run=True)
        alter(twin, group, (SESSION, SET, "50000"), (SESSION, DELETE, None), dry_run=True)
        alter(twin, group, (SESSION, SET, "45000"), (HEARTBEAT, SET, "45000"), dry_run=True)
        alter(twin, group, (SESSION, SET, "45001"), (HEARTBEAT, SET, "45000"), dry_run=True)
        alter(twin, group, (SESSION, SET, "50000"), ("no.such", SET, "1"), dry_run=True)
        replace(twin, group, {}, dry_run=True)
        for name, value in ((SESSION, "46000"), (SESSION, None), (SESSION, "1"), ("no.such", "1")):
            replace(twin, group, {name: value}, dry_run=True)


def test_where_each_value_comes_from(twin: Twin) -> None:
    eventually_same(twin, "g", "")
    alter(twin, "g", (SESSION, SET, "50000"), ("share.auto.offset.reset", SET, "earliest"))
    alter(twin, "h", ("streams.num.standby.replicas", SET, "2"), ("share.renew.acknowledge.enable", SET, "false"))
    eventually_same(twin, "g", "h")
    alter(twin, "g", (SESSION, DELETE, None), (HEARTBEAT, SET, "6000"), ("no.such", DELETE, None))
    eventually_same(twin, "g")
    replace(twin, "g", {SESSION: "47000"})
    eventually_same(twin, "g")
    replace(twin, "g", {})
    replace(twin, "h", {})
    eventually_same(twin, "g", "h")


def test_a_change_is_in_force_at_once(twin: Twin) -> None:
    joining = {"groupId": "beating", "memberId": "m", "memberEpoch": 0, "rebalanceTimeoutMs": 60_000,
               "subscribedTopicNames": ["t"], "topicPartitions": []}  # fmt: skip
    twin.wait_for_coordinators()
    twin.eventually(apis.CONSUMER_GROUP_HEARTBEAT, 1, joining, 0)
    alter(twin, "beating", (HEARTBEAT, SET, "7000"))
    eventually_same(twin, "beating")
    twin.eventually(apis.CONSUMER_GROUP_HEARTBEAT, 1, joining, 0)
    answer = twin.ask(apis.CONSUMER_GROUP_HEARTBEAT, 1, joining) or {}
    assert answer["heartbeatIntervalMs"] == 7000


def test_a_directory_that_kafka_served_keeps_its_configs(tmp_path: Path) -> None:
    real = KafkaBroker(tmp_path)
    real.start()
    with RawClient(("localhost", real.port)) as client:
        for group, name, value in (("g", SESSION, "50000"), ("g", HEARTBEAT, "6000"), ("h", HEARTBEAT, "7000")):
            resource = {"resourceType": GROUP, "resourceName": group,
                        "configs": [{"name": name, "configOperation": SET, "value": value}]}  # fmt: skip
            client.ask(apis.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [resource]})
    real.stop()
    with octavo.LogDir(real.log_dir) as logs:
        configs = GroupConfigs(logs)
        assert configs.values == {"g": {SESSION: "50000", HEARTBEAT: "6000"}, "h": {HEARTBEAT: "7000"}}
        configs.alter("g", {SESSION: None})
        configs.alter("h", {HEARTBEAT: None})
    with octavo.LogDir(real.log_dir) as logs:
        assert GroupConfigs(logs).values == {"g": {HEARTBEAT: "6000"}}
