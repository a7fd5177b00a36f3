"""The same heartbeats to a real Kafka 4.3.1 and to ours: the same answers, down to the sentences of refusals."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

import octavo
from octavo.broker.broker import Broker
from octavo.config.table import BROKER_CONFIGS, SYNONYMS
from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from tests.broker.raw import RawClient
from tests.broker.twin import UNORDERED, Twin
from tests.interop.broker import PROPERTIES
from tests.interop.broker import Broker as KafkaBroker

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("broker")]

# Without a pause between two assignments, so that the answers do not depend on the time.
CONFIGS = {**PROPERTIES, "group.consumer.assignment.interval.ms": "0", "group.consumer.max.size": "3"}
TOPICS = {"t": 2, "u": 1, "a1": 1, "a2": 1}
NUMBERS = itertools.count()


class GroupTwin(Twin):
    """Compares sentences too, and ignores the order in which Java's maps list things."""

    unordered = frozenset(UNORDERED | {"topicPartitions", "members", "subscribedTopicNames"})


class Group:
    """A new group at both brokers."""

    def __init__(self, twin: GroupTwin) -> None:
        self._twin = twin
        self.group_id = f"g{next(NUMBERS)}"

    def send(self, member_id: str, epoch: int, owned: Row | None = None, *, version: int = 1, **fields: Any) -> Row:
        body = {"groupId": self.group_id, "memberId": member_id, "memberEpoch": epoch, **fields}
        if owned is not None:
            rows = [{"topicId": f"id of {name}", "partitions": numbers} for name, numbers in owned.items()]
            body["topicPartitions"] = rows
        answer = self._twin.ask(apis.CONSUMER_GROUP_HEARTBEAT, version, body)
        assert answer is not None
        return answer

    def join(self, member_id: str, *names: str, **fields: Any) -> Row:
        whole = {"rebalanceTimeoutMs": 60_000, "subscribedTopicNames": list(names)}
        return self.send(member_id, 0, {}, **{**whole, **fields})

    def described(self, version: int = 1) -> Row:
        body = {"groupIds": [self.group_id], "includeAuthorizedOperations": True}
        answer = self._twin.ask(apis.CONSUMER_GROUP_DESCRIBE, version, body)
        assert answer is not None
        row: Row = answer["groups"][0]
        return row

    def wait_for_epoch(self, epoch: int) -> None:
        """Wait for Kafka, which resolves expressions in the background."""
        with RawClient(self._twin.real) as client:
            body = {"groupIds": [self.group_id], "includeAuthorizedOperations": False}
            while (answer := client.ask(apis.CONSUMER_GROUP_DESCRIBE, 1, body)) is not None:
                if answer["groups"][0]["groupEpoch"] == epoch:
                    return


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GroupTwin]:
    folder = tmp_path_factory.mktemp("groups")
    real = KafkaBroker(folder / "kafka", CONFIGS)
    real.start()
    configs = {name: value for name, value in CONFIGS.items() if name in {**BROKER_CONFIGS, **SYNONYMS}}
    with octavo.LogDir(folder / "ours", configs=configs, create=True) as logs, Broker(logs) as ours:
        both = GroupTwin(("localhost", real.port), ours.address)
        for topic, partitions in TOPICS.items():
            wanted = {"name": topic, "numPartitions": partitions, "replicationFactor": 1}
            both.ask(apis.CREATE_TOPICS, 4, {"topics": [wanted], "timeoutMs": 10_000})
        both.masked = (both.masked - {"errorMessage"}) | {"clientHost"}
        both.learn_ids(TOPICS)
        both.wait_for_coordinator()
        yield both
    real.kill()


@pytest.fixture
def group(twin: GroupTwin) -> Group:
    return Group(twin)


def test_partitions_move_from_one_member_to_another(group: Group) -> None:
    assert group.join("m1", "t")["memberEpoch"] == 2
    group.described()
    group.join("m2", "t")
    group.described()
    group.send("m1", 2, {"t": [0, 1]})
    group.described()
    group.send("m2", 3)
    group.send("m1", 2, {"t": [0]})
    assert group.send("m2", 3)["assignment"] is not None
    assert group.described()["groupState"] == "Stable"
    group.send("m2", 3)
    group.send("m1", 2, {"t": [0]})
    group.send("m1", 2, {"t": [0, 1]})
    group.send("m1", 2)
    group.send("m1", 3, {"t": [0]}, rebalanceTimeoutMs=60_000, subscribedTopicNames=["t"])
    group.send("m1", 4)
    group.send("m1", -1)
    group.send("m2", 3)
    group.described()
    group.send("m2", 4)
    group.send("m2", -1)
    assert group.described()["groupState"] == "Empty"
    group.send("m2", -1)
    group.join("m2", "t")


def test_subscriptions_change(group: Group) -> None:
    group.join("m1", "t", "u", "missing")
    group.send("m1", 2, {"t": [0, 1], "u": [0]}, subscribedTopicNames=["u"])
    group.send("m1", 2, {"u": [0]})
    group.described()
    group.send("m1", 3, subscribedTopicNames=[])
    group.send("m1", 3, {})
    group.join("m1", "t")
    group.described()


def test_members_with_an_instance_id(group: Group) -> None:
    group.join("m1", "t", instanceId="i", rackId="r", serverAssignor="range")
    group.join("m2", "t", instanceId="j")
    group.join("m3", "t", instanceId="i")
    group.join("m1", "t", instanceId="i")
    group.send("m3", 2, instanceId="i")
    group.send("m3", 2, instanceId="k")
    group.send("m3", -2, instanceId="i")
    group.send("m3", -1, instanceId="k")
    group.send("m1", 2, {"t": [0]}, instanceId="i")
    group.send("m1", -2, instanceId="i")
    group.described()
    group.join("m4", "t", instanceId="i")
    group.described()
    group.send("m1", 3)
    group.send("m4", -1, instanceId="i")
    group.described()


def test_expressions(group: Group) -> None:
    by_regex: Row = {"subscribedTopicNames": None}
    group.join("m1", subscribedTopicRegex="a.*", **by_regex)
    group.wait_for_epoch(2)
    group.described()
    group.send("m1", 1)
    group.join("m2", subscribedTopicRegex="a.*", **by_regex)
    group.send("m1", 2, {"a1": [0], "a2": [0]}, subscribedTopicRegex="", subscribedTopicNames=["u"])
    group.send("m2", -1)
    group.described()


def test_bad_expressions(group: Group, twin: GroupTwin, monkeypatch: pytest.MonkeyPatch) -> None:
    """RE2 describes them in other words than RE2/J."""
    monkeypatch.setattr(twin, "masked", twin.masked | {"errorMessage"})
    for regex in ("(", "a**", "(?=a)", "[z-a]"):
        answer = group.join("m3", subscribedTopicRegex=regex, subscribedTopicNames=None)
        assert answer["errorCode"] == 128


def test_refusals(group: Group) -> None:
    whole: Row = {"rebalanceTimeoutMs": 1, "subscribedTopicNames": ["t"], "topicPartitions": []}
    group.described()
    group.send("m1", 1)
    group.send("m1", -1)
    group.send("", 0, **whole)
    group.send(" ", 0, **whole)
    group.send("", 1, version=0)
    group.send("", -1, version=0)
    group.send("m1", 0)
    group.send("m1", 0, rebalanceTimeoutMs=1)
    group.send("m1", 0, **{**whole, "subscribedTopicNames": None})
    group.send("m1", 0, **{**whole, "instanceId": ""})
    group.send("m1", 0, **{**whole, "rackId": ""})
    group.send("m1", 0, **{**whole, "groupId": ""})
    group.send("m1", 0, **{**whole, "serverAssignor": "sticky"})
    group.send("m1", -2)
    group.send("m1", -3)
    for number in range(4):
        group.join(f"m{number}", "t")
    group.send("m9", 1)
    group.send("m9", -1)
    group.described(version=0)


def test_groups_that_cannot_be_described(twin: GroupTwin) -> None:
    for version in (0, 1):
        body = {"groupIds": ["", "nobody"], "includeAuthorizedOperations": True}
        twin.ask(apis.CONSUMER_GROUP_DESCRIBE, version, body)


def test_commits(group: Group, twin: GroupTwin) -> None:
    def commit(member_id: str, epoch: int, *numbers: int, version: int = 9) -> None:
        rows = [{"partitionIndex": number, "committedOffset": 0, "committedMetadata": ""} for number in numbers]
        body = {
            "groupId": group.group_id,
            "memberId": member_id,
            "generationIdOrMemberEpoch": epoch,
            "topics": [{"name": "t", "partitions": rows}],
        }
        twin.ask(apis.OFFSET_COMMIT, version, body)

    def fetch(member_id: str | None, epoch: int) -> None:
        wanted = {"groupId": group.group_id, "memberId": member_id, "memberEpoch": epoch, "topics": None}
        twin.ask(apis.OFFSET_FETCH, 9, {"groups": [wanted], "requireStable": False})

    group.join("m1", "t")
    group.join("m2", "t")
    group.send("m1", 2, {"t": [0, 1]})
    commit("m1", 2, 0, 1)
    group.send("m1", 2, {"t": [0]})
    group.send("m2", 3)
    for member_id, epoch in (("m1", 3), ("m1", 2), ("m1", 4), ("m1", 1), ("m2", 2), ("m3", 3), ("", -1), ("m1", -1)):
        commit(member_id, epoch, 0)
        commit(member_id, epoch, 0, 1)
        commit(member_id, epoch, 0, version=8)
        fetch(member_id, epoch)
    fetch(None, -1)


def test_other_requests_about_consumer_groups(group: Group, twin: GroupTwin) -> None:
    group.join("m1", "t")
    named = [group.group_id]
    twin.ask(apis.DELETE_GROUPS, 2, {"groupsNames": named})
    twin.ask(apis.DESCRIBE_GROUPS, 6, {"groups": named, "includeAuthorizedOperations": False})
    twin.ask(apis.DESCRIBE_GROUPS, 5, {"groups": named, "includeAuthorizedOperations": False})
    deleted = [{"name": "t", "partitions": [{"partitionIndex": 0}]}]
    twin.ask(apis.OFFSET_DELETE, 0, {"groupId": group.group_id, "topics": deleted})
    heartbeat = {"groupId": group.group_id, "generationId": 2, "memberId": "m9"}
    twin.ask(apis.HEARTBEAT, 4, heartbeat)
    twin.ask(apis.HEARTBEAT, 4, {**heartbeat, "memberId": "m1"})
    member = {"memberId": "m9", "groupInstanceId": None}
    twin.ask(apis.LEAVE_GROUP, 5, {"groupId": group.group_id, "members": [member]})
    group.send("m1", -1)
    twin.ask(apis.LIST_GROUPS, 5, {"statesFilter": ["empty"], "typesFilter": ["Consumer"]})
    twin.ask(apis.DELETE_GROUPS, 2, {"groupsNames": named})
    group.described()
