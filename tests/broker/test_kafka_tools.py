"""Kafka 4.3.1's own tools against our broker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from octavo.broker.broker import Broker
from tests.broker.kafka_tools import TOOLS, Tools
from tests.broker.logins import STANDARD_AUTHORIZER

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("broker")]

CONFIGS = {
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:ANONYMOUS;User:carol",
    "sasl.enabled.mechanisms": "SCRAM-SHA-256",
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    listen = ["PLAINTEXT://127.0.0.1:0", "SASL_PLAINTEXT://127.0.0.1:0"]
    with Broker(tmp_path_factory.mktemp("tools") / "logs", listen=listen, configs=CONFIGS) as broker:
        yield broker


@pytest.fixture(scope="module")
def tools(running: Broker) -> Tools:
    return Tools(running.bootstrap_servers)


def test_topics(tools: Tools, running: Broker) -> None:
    tool = TOOLS + "TopicCommand"
    tools.run(tool, "--create", "--topic", "made", "--partitions", "2", "--config", "retention.ms=100000")
    tools.run(tool, "--alter", "--topic", "made", "--partitions", "3")
    described = tools.run(tool, "--describe", "--topic", "made")
    assert "PartitionCount: 3\tReplicationFactor: 1\tConfigs: min.insync.replicas=1,retention.ms=100000" in described
    assert tools.run(tool, "--list").splitlines() == sorted(running.logs.topics)
    tools.run(tool, "--delete", "--topic", "made")
    assert "made" not in running.logs.topics


def test_records(tools: Tools, running: Broker, tmp_path: Path) -> None:
    running.logs.create_topic("t", 1)
    line = ["--topic", "t", "--num-records", "1000", "--record-size", "100", "--throughput", "-1"]
    assert "1000 records sent" in tools.run(TOOLS + "ProducerPerformance", *line)
    tools.run(TOOLS + "ConsoleProducer", "--topic", "t", stdin="first\nsecond\n")
    assert tools.run(TOOLS + "GetOffsetShell", "--topic", "t") == "t:0:1002\n"
    line = ["--topic", "t", "--partition", "0", "--offset", "1000", "--max-messages", "2", "--timeout-ms", "60000"]
    assert tools.run(TOOLS + "consumer.ConsoleConsumer", *line).splitlines() == ["first", "second"]
    wanted = {"partitions": [{"topic": "t", "partition": 0, "offset": 1001}], "version": 1}
    (tmp_path / "delete.json").write_text(json.dumps(wanted))
    said = tools.run(TOOLS + "DeleteRecordsCommand", "--offset-json-file", str(tmp_path / "delete.json"))
    assert "low_watermark: 1001" in said
    assert '"partition":"t-0"' in tools.run(TOOLS + "LogDirsCommand", "--describe", "--topic-list", "t")


def test_configs_of_groups(tools: Tools) -> None:
    tool, groups = "kafka.admin.ConfigCommand", ["--entity-type", "groups"]
    group = [*groups, "--entity-name", "readers"]
    tools.run(tool, "--alter", *group, "--add-config", "consumer.heartbeat.interval.ms=6000")
    described = tools.run(tool, "--describe", *groups)
    assert "Dynamic configs for group readers are:" in described
    assert "synonyms={DYNAMIC_GROUP_CONFIG:consumer.heartbeat.interval.ms=6000," in described
    assert "share.isolation.level=read_uncommitted" in tools.run(tool, "--describe", "--all", *group)
    tools.run(tool, "--alter", *group, "--delete-config", "consumer.heartbeat.interval.ms")
    assert "6000" not in tools.run(tool, "--describe", *group)


def test_configs_and_users(tools: Tools, running: Broker) -> None:
    running.logs.create_topic("configured", 1)
    tool, topic = "kafka.admin.ConfigCommand", ["--entity-type", "topics", "--entity-name", "configured"]
    tools.run(tool, "--alter", *topic, "--add-config", "cleanup.policy=compact")
    assert "cleanup.policy=compact" in tools.run(tool, "--describe", *topic)
    user = ["--entity-type", "users", "--entity-name", "carol"]
    tools.run(tool, "--alter", *user, "--add-config", "SCRAM-SHA-256=[iterations=8192,password=x]")
    assert "SCRAM-SHA-256=iterations=8192" in tools.run(tool, "--describe", "--entity-type", "users")
    login = {"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "carol", "sasl.password": "x"}
    carols = {"bootstrap.servers": str(running.addresses["SASL_PLAINTEXT"]), "security.protocol": "SASL_PLAINTEXT"}
    assert "configured" in AdminClient({**carols, **login}).list_topics(timeout=30).topics
    tools.run(tool, "--alter", *user, "--delete-config", "SCRAM-SHA-256")
    assert "carol" not in tools.run(tool, "--describe", "--entity-type", "users")


def test_acls(tools: Tools) -> None:
    tool = TOOLS + "AclCommand"
    binding = ["--allow-principal", "User:alice", "--operation", "Read", "--topic", "t"]
    tools.run(tool, "--add", *binding)
    expected = "(principal=User:alice, host=*, operation=READ, permissionType=ALLOW)"
    assert expected in tools.run(tool, "--list")
    tools.run(tool, "--remove", "--force", *binding)
    assert expected not in tools.run(tool, "--list")


def test_consumer_groups(tools: Tools, running: Broker) -> None:
    tool, logs = TOOLS + "consumer.group.ConsumerGroupCommand", running.logs
    logs.create_topic("read", 2)
    with logs.producer() as producer:
        for number in range(10):
            producer.send("read", b"%d" % number, partition=number % 2)
    consumer = Consumer({"bootstrap.servers": running.bootstrap_servers, "group.id": "readers"})
    consumer.commit(offsets=[TopicPartition("read", 0, 2), TopicPartition("read", 1, 5)], asynchronous=False)
    consumer.close()
    assert tools.run(tool, "--list").split() == ["readers"]
    described = tools.run(tool, "--describe", "--group", "readers")
    rows = sorted(line.split()[1:6] for line in described.splitlines() if line.startswith("readers"))
    assert rows == [["read", "0", "2", "5", "3"], ["read", "1", "5", "5", "0"]]
    assert "Empty" in tools.run(tool, "--describe", "--group", "readers", "--state")
    reset = ("--reset-offsets", "--group", "readers", "--topic", "read:0", "--to-earliest", "--execute")
    assert tools.run(tool, *reset).split()[-4:] == ["readers", "read", "0", "0"]
    assert logs.group_coordinator.offsets.committed("readers")[("read", 0)].offset == 0  # type: ignore[index]
    tools.run(tool, "--delete-offsets", "--group", "readers", "--topic", "read:1")
    assert set(logs.group_coordinator.offsets.committed("readers")) == {("read", 0)}
    tools.run(tool, "--delete", "--group", "readers")
    assert logs.group_coordinator.admin.list() == []
