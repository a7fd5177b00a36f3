"""The same heartbeats to a real Kafka 4.3.1 and to ours: the same answers, down to the wording of error messages."""

from __future__ import annotations

import pytest

from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from tests.broker.group_requests import committing, leaving
from tests.broker.group_twin import Group, GroupTwin

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("broker")]


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


def test_bad_expressions(group: Group, group_twin: GroupTwin, monkeypatch: pytest.MonkeyPatch) -> None:
    """RE2 words its errors differently from RE2/J."""
    monkeypatch.setattr(group_twin, "masked", group_twin.masked | {"errorMessage"})
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


def test_groups_that_cannot_be_described(group_twin: GroupTwin) -> None:
    for version in (0, 1):
        body = {"groupIds": ["", "nobody"], "includeAuthorizedOperations": True}
        group_twin.ask(apis.CONSUMER_GROUP_DESCRIBE, version, body)


def test_commits(group: Group, group_twin: GroupTwin) -> None:
    def commit(member_id: str, epoch: int, *numbers: int, version: int = 9) -> None:
        rows = [{"partitionIndex": number, "committedOffset": 0, "committedMetadata": ""} for number in numbers]
        body = {
            "groupId": group.group_id,
            "memberId": member_id,
            "generationIdOrMemberEpoch": epoch,
            "topics": [{"name": "t", "partitions": rows}],
        }
        group_twin.ask(apis.OFFSET_COMMIT, version, body)

    def fetch(member_id: str | None, epoch: int) -> None:
        wanted = {"groupId": group.group_id, "memberId": member_id, "memberEpoch": epoch, "topics": None}
        group_twin.ask(apis.OFFSET_FETCH, 9, {"groups": [wanted], "requireStable": False})

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


@pytest.mark.parametrize("version", [0, 2, 5])
def test_members_leave_by_the_request_of_classic_groups(group: Group, group_twin: GroupTwin, version: int) -> None:
    group.join("m1", "t")
    group.join("m2", "t")
    for member in ("m9", "m1"):
        row = {"memberId": member, "groupInstanceId": None}
        group_twin.ask(apis.LEAVE_GROUP, version, leaving(group.group_id, version, row))
    group.described()


def test_heartbeats_to_a_classic_group(group: Group, group_twin: GroupTwin) -> None:
    group_twin.ask(apis.OFFSET_COMMIT, 8, committing(group.group_id, {"name": "t"}, {}))
    for epoch in (-3, -2, -1, 1):
        group.send("m", epoch)
        group.send("m", epoch, serverAssignor="no such")
    group.send("m", -2, instanceId="i")
    group.send("m", 0, {}, subscribedTopicNames=["t"])


def test_other_requests_about_consumer_groups(group: Group, group_twin: GroupTwin) -> None:
    group.join("m1", "t")
    named = [group.group_id]
    group_twin.ask(apis.DELETE_GROUPS, 2, {"groupsNames": named})
    group_twin.ask(apis.DESCRIBE_GROUPS, 6, {"groups": named, "includeAuthorizedOperations": False})
    group_twin.ask(apis.DESCRIBE_GROUPS, 5, {"groups": named, "includeAuthorizedOperations": False})
    deleted = [{"name": "t", "partitions": [{"partitionIndex": 0}]}]
    group_twin.ask(apis.OFFSET_DELETE, 0, {"groupId": group.group_id, "topics": deleted})
    heartbeat = {"groupId": group.group_id, "generationId": 2, "memberId": "m9"}
    group_twin.ask(apis.HEARTBEAT, 4, heartbeat)
    group_twin.ask(apis.HEARTBEAT, 4, {**heartbeat, "memberId": "m1"})
    member = {"memberId": "m9", "groupInstanceId": None}
    group_twin.ask(apis.LEAVE_GROUP, 5, {"groupId": group.group_id, "members": [member]})
    group.send("m1", -1)
    group_twin.ask(apis.LIST_GROUPS, 5, {"statesFilter": ["empty"], "typesFilter": ["Consumer"]})
    group_twin.ask(apis.DELETE_GROUPS, 2, {"groupsNames": named})
    group.described()
