"""Requests that are refused, with Kafka's codes and messages."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.config import BrokerConfig
from octavo.coordinator.errors import RequestError
from octavo.coordinator.groups.commit_rules import Committer, check_commit, check_offset_fetch
from octavo.coordinator.groups.consumer.group import ConsumerGroup
from octavo.coordinator.groups.offsets import GroupOffsets, StoredOffset
from octavo.format.names import TopicPartition
from tests.coordinator.consumer.groups import GroupUnderTest, rows, topic_id

JOIN: dict[str, Any] = {"rebalanceTimeoutMs": 1000, "subscribedTopicNames": ["t"], "topicPartitions": []}


@pytest.mark.parametrize(
    ("member_id", "epoch", "fields", "code", "problem"),
    [
        ("", 0, JOIN, 42, "MemberId can't be empty."),
        (" \t", 0, JOIN, 42, "MemberId can't be empty."),
        ("", 1, {"version": 0}, 42, "MemberId can't be empty."),
        ("", -1, {"version": 0}, 42, "MemberId can't be empty."),
        ("m", 0, {**JOIN, "groupId": ""}, 42, "GroupId can't be empty."),
        ("m", 0, {**JOIN, "instanceId": ""}, 42, "InstanceId can't be empty."),
        ("m", 0, {**JOIN, "rackId": " "}, 42, "RackId can't be empty."),
        (
            "m", 0, {**JOIN, "rebalanceTimeoutMs": -1}, 42,
            "RebalanceTimeoutMs must be provided in first request.",
        ),
        ("m", 0, {**JOIN, "topicPartitions": None}, 42, "TopicPartitions must be empty when (re-)joining."),
        ("m", 0, {**JOIN, "topicPartitions": rows({"t": [0]})}, 42, "TopicPartitions must be empty when (re-)joining."),
        (
            "m", 0, {**JOIN, "subscribedTopicNames": None}, 42,
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        ),
        ("m", -2, {}, 42, "InstanceId can't be null."),
        ("m", -3, {}, 42, "MemberEpoch is invalid."),
        (
            "m", 0, {**JOIN, "serverAssignor": "sticky"}, 112,
            "ServerAssignor sticky is not supported. Supported assignors: uniform, range.",
        ),
        (
            "m", 0, {**JOIN, "serverAssignor": "random", "session_timeout_ms": 1000}, 112,
            "ServerAssignor random is not supported. "
            "Supported assignors: uniform, range, roundrobin, sticky, cooperative-sticky.",
        ),
        (
            "m", 0, {**JOIN, "subscribedTopicRegex": "a("}, 128,
            "SubscribedTopicRegex `a(` is not a valid regular expression: missing ): a(.",
        ),
        ("m", 1, {}, 69, "Consumer group g not found."),
        ("m", -1, {}, 69, "Group g not found."),
    ],
)  # fmt: skip
def test_wrong_requests_without_a_group_are_refused(
    member_id: str, epoch: int, fields: dict[str, Any], code: int, problem: str
) -> None:
    group = GroupUnderTest(t=1)
    assert group.send(member_id, epoch, **fields) == {"errorCode": code, "errorMessage": problem}
    assert group.group is None


@pytest.mark.parametrize(
    ("member_id", "epoch", "fields", "code", "problem"),
    [
        ("x", 1, {}, 81, "The consumer group has reached its maximum capacity of 1 members."),
        ("x", -1, {}, 25, "Member x is not a member of group g."),
        ("x", 0, JOIN, 81, "The consumer group has reached its maximum capacity of 1 members."),
        (
            "m", 9, {}, 110,
            "The consumer group member has a greater member epoch (9) than the one known by the group coordinator (2). "
            "The member must abandon all its partitions and rejoin.",
        ),
        (
            "m", 1, {}, 110,
            "The consumer group member has a smaller member epoch (1) than the one known by the group coordinator (2). "
            "The member must abandon all its partitions and rejoin.",
        ),
        ("m", 2, {"instanceId": "j"}, 25, "Instance id j is unknown."),
    ],
)  # fmt: skip
def test_wrong_requests_to_a_group_are_refused(
    member_id: str, epoch: int, fields: dict[str, Any], code: int, problem: str
) -> None:
    group = GroupUnderTest(config=BrokerConfig(group_consumer_max_size=1), t=1)
    group.join("m", "t", instanceId="i")
    before = group.group
    assert group.send(member_id, epoch, **fields) == {"errorCode": code, "errorMessage": problem}
    assert group.group == before and not group.written


def test_an_unknown_member_is_refused() -> None:
    group = GroupUnderTest(t=1)
    group.join("m", "t")
    problem = "Member x is not a member of group g."
    assert group.send("x", 1) == {"errorCode": 25, "errorMessage": problem}


def test_members_of_version_0_get_an_id() -> None:
    group = GroupUnderTest(t=1)
    first, second = (group.join("", "t", version=0)["memberId"] for _ in range(2))
    assert len(first) == len(second) == 22 and first != second


def offsets_of(partition: int) -> GroupOffsets:
    return {TopicPartition("t", partition): StoredOffset(0, "", -1, 0, topic_id=topic_id("t"))}


def refused(group: ConsumerGroup, member_id: str, epoch: int, version: int = 9) -> tuple[int, str | None]:
    with pytest.raises(RequestError) as caught:
        check_commit(group, Committer(member_id, None, epoch, version), offsets_of(1))
    return int(caught.value.code), caught.value.problem


def test_commits_and_fetches_of_other_epochs_are_refused() -> None:
    under_test = GroupUnderTest(config=BrokerConfig(group_consumer_assignment_interval_ms=0), t=2)
    check_commit(ConsumerGroup(group_id="g"), Committer(), {})
    under_test.join("m1", "t")
    under_test.join("m2", "t")
    under_test.beat("m1", 2, {"t": [0, 1]})
    under_test.beat("m1", 2, {"t": [0]})
    under_test.beat("m2", 3)
    group = under_test.group
    assert group is not None
    check_commit(group, Committer("m1", None, 3), offsets_of(0))
    check_commit(group, Committer("m1", None, 2), offsets_of(0))
    check_commit(group, Committer(is_transactional=True), offsets_of(0))
    assert refused(group, "", -1) == (25, "Member  is not a member of group g.")
    assert refused(group, "m2", 4) == (113, "Received member epoch 4 is newer than current member epoch 3.")
    assert refused(group, "m2", 3, version=8)[0] == 35
    assert refused(group, "m1", 2) == (113, "Partition t-1 is not assigned or pending revocation for member.")
    problem = "Received member epoch 2 is older than assignment epoch 3 for partition t-1."
    assert refused(group, "m2", 2) == (113, problem)
    check_offset_fetch(group, None, -1)
    check_offset_fetch(group, "m2", 3)
    for member_id, epoch, code in (("m2", 2, 113), ("m3", 3, 25), (None, 3, 25)):
        with pytest.raises(RequestError) as caught:
            check_offset_fetch(group, member_id, epoch)
        assert caught.value.code == code
