"""librdkafka with group.protocol=consumer, alone and in one group with consumers in the broker's process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer

import octavo
from octavo.broker.broker import Broker
from octavo.format.messages.schema import Row
from tests.broker.librdkafka import Servers, produce

CONFIGS = {
    "group.consumer.heartbeat.interval.ms": "50",
    "group.consumer.assignment.interval.ms": "0",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
}
ROUNDS = 2000


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[octavo.LogDir]:
    with octavo.LogDir(tmp_path / "logs", create=True, configs=CONFIGS) as logs:
        logs.create_topic("t", 4)
        yield logs


@pytest.fixture
def servers(broker: Broker) -> Servers:
    return {"bootstrap.servers": broker.bootstrap_servers}


@pytest.fixture
def join(servers: Servers) -> Iterator[Callable[..., Consumer]]:
    joined: list[Consumer] = []

    def make(*topics: str, **configs: str) -> Consumer:
        given = {name.replace("_", "."): value for name, value in configs.items()}
        consumer = Consumer({
            **servers, "group.id": "g", "group.protocol": "consumer", "auto.offset.reset": "earliest", **given
        })  # fmt: skip
        consumer.subscribe(list(topics))
        joined.append(consumer)
        return consumer

    yield make
    for consumer in joined:
        consumer.close()


def group(logs: octavo.LogDir) -> Row:
    return logs.group_coordinator.consumers.describe("g")


class Reading:
    """Polls consumers in turn, and collects the values that they read."""

    def __init__(self) -> None:
        self.values: list[bytes] = []

    def turn(self, *consumers: Consumer | octavo.Consumer) -> None:
        for consumer in consumers:
            if isinstance(consumer, Consumer):
                message = consumer.poll(0.02)
                if message is not None:
                    assert message.error() is None, message.error()
                    self.values.append(message.value() or b"")
            else:
                for records in consumer.poll().values():
                    self.values += [record.value or b"" for record in records]

    def until(self, done: Callable[[], bool], *consumers: Consumer | octavo.Consumer) -> None:
        for _ in range(ROUNDS):
            self.turn(*consumers)
            if done():
                return
        raise AssertionError(f"not done after {ROUNDS} rounds; read so far: {len(self.values)}")


def shares(*consumers: Consumer | octavo.Consumer) -> list[list[int]]:
    return [sorted(place.partition for place in consumer.assignment()) for consumer in consumers]


def test_members_share_partitions(servers: Servers, logs: octavo.LogDir, join: Callable[..., Consumer]) -> None:
    values = [b"%d" % number for number in range(40)]
    produce(servers, "t", values)
    reading, first = Reading(), join("t")
    reading.until(lambda: len(reading.values) == 40, first)
    assert sorted(reading.values) == sorted(values)
    second = join("t")
    reading.until(lambda: [len(share) for share in shares(first, second)] == [2, 2], first, second)
    assert group(logs)["groupState"] == "Stable" and len(group(logs)["members"]) == 2
    second.close()
    reading.until(lambda: shares(first) == [[0, 1, 2, 3]], first)
    first.commit(asynchronous=False)
    assert len(reading.values) == 40
    committed = logs.group_coordinator.offsets.committed("g")
    assert sum(offset.offset for offset in committed.values()) == 40


def test_a_member_subscribes_by_a_pattern(logs: octavo.LogDir, join: Callable[..., Consumer]) -> None:
    logs.create_topic("topic-1", 1)
    reading, consumer = Reading(), join("^topic-.*")
    reading.until(lambda: bool(consumer.assignment()), consumer)
    assert [place.topic for place in consumer.assignment()] == ["topic-1"]
    assert group(logs)["members"][0]["subscribedTopicRegex"] == "(^topic-.*)"


def test_a_static_member_comes_back(logs: octavo.LogDir, join: Callable[..., Consumer]) -> None:
    reading, consumer = Reading(), join("t", group_instance_id="i")
    reading.until(lambda: shares(consumer) == [[0, 1, 2, 3]], consumer)
    epoch = group(logs)["groupEpoch"]
    consumer.close()
    assert group(logs)["members"][0]["memberEpoch"] == -2
    again = join("t", group_instance_id="i")
    reading.until(lambda: shares(again) == [[0, 1, 2, 3]], again)
    assert group(logs)["groupEpoch"] == epoch


def test_members_on_the_network_and_in_the_process(
    servers: Servers, logs: octavo.LogDir, join: Callable[..., Consumer]
) -> None:
    """They share one group; partitions and positions go from one to the other, both ways."""
    values = [b"%d" % number for number in range(40)]
    reading = Reading()
    inside = logs.consumer("t", group="g")
    reading.turn(inside)
    assert shares(inside) == [[0, 1, 2, 3]]
    outside = join("t")
    reading.until(lambda: [len(share) for share in shares(inside, outside)] == [2, 2], inside, outside)
    assert sorted(number for share in shares(inside, outside) for number in share) == [0, 1, 2, 3]
    assert {member["memberType"] for member in group(logs)["members"]} == {1}
    produce(servers, "t", values)
    reading.until(lambda: len(reading.values) == 40, inside, outside)
    assert sorted(reading.values) == sorted(values)
    inside.close()
    reading.until(lambda: shares(outside) == [[0, 1, 2, 3]], outside)
    outside.commit(asynchronous=False)
    inside = logs.consumer("t", group="g")
    reading.until(lambda: [len(share) for share in shares(inside, outside)] == [2, 2], inside, outside)
    outside.close()
    reading.until(lambda: shares(inside) == [[0, 1, 2, 3]], inside)
    produce(servers, "t", [b"more"])
    reading.until(lambda: len(reading.values) > 40, inside)
    assert reading.values[40:] == [b"more"]


def test_three_kinds_of_members(servers: Servers, logs: octavo.LogDir, join: Callable[..., Consumer]) -> None:
    """Members of both protocols on the network, and one in the process: the group changes its kind on the way."""
    values = [b"%d" % number for number in range(40)]
    quick = {"session_timeout_ms": "6000", "heartbeat_interval_ms": "50"}
    reading, classic = Reading(), join("t", group_protocol="classic", **quick)
    reading.until(lambda: shares(classic) == [[0, 1, 2, 3]], classic)
    inside = logs.consumer("t", group="g")
    reading.until(lambda: sorted(map(len, shares(classic, inside))) == [2, 2], classic, inside)
    outside = join("t")
    members = classic, inside, outside
    reading.until(lambda: sorted(map(len, shares(*members))) == [1, 1, 2], *members)
    assert sorted(member["memberType"] for member in group(logs)["members"]) == [0, 1, 1]
    produce(servers, "t", values)
    reading.until(lambda: len(reading.values) == 40, *members)
    assert sorted(reading.values) == sorted(values)
    inside.close()
    outside.close()
    reading.until(lambda: shares(classic) == [[0, 1, 2, 3]], classic)
    assert [row["groupType"] for row in logs.group_coordinator.admin.list()] == ["classic"]


def test_members_outlive_the_broker(tmp_path: Path) -> None:
    """Members on the network outlive it; those in its process end with it, and their partitions pass to the others."""
    folder = tmp_path / "again"
    reading = Reading()
    with octavo.LogDir(folder, create=True, configs=CONFIGS) as logs:
        logs.create_topic("t", 4)
        with Broker(logs) as broker:
            port = broker.address[1]
            servers: Servers = {"bootstrap.servers": broker.bootstrap_servers}
            outside = Consumer({**servers, "group.id": "g", "group.protocol": "consumer"})
            outside.subscribe(["t"])
            inside = logs.consumer("t", group="g")
            reading.until(lambda: [len(share) for share in shares(inside, outside)] == [2, 2], inside, outside)
    with octavo.LogDir(folder, configs=CONFIGS) as logs, Broker(logs, listen=f"localhost:{port}"):
        reading.until(lambda: shares(outside) == [[0, 1, 2, 3]], outside)
        outside.close()
        assert group(logs)["groupState"] == "Empty"
