"""Members join, share partitions, and leave, step by step."""

from __future__ import annotations

from octavo.config import BrokerConfig
from octavo.coordinator.groups.consumer.group import MemberState
from tests.coordinator.consumer.groups import GroupUnderTest, partitions_of, topics


def kinds(group: GroupUnderTest) -> list[tuple[int, bool]]:
    """The types of the records that the last event wrote, and whether they have values."""
    return [(write.kind.id, write.value is not None) for write in group.written]


def test_a_second_member_gets_what_the_first_gives_up() -> None:
    """As measured with Kafka 4.3.1."""
    group = GroupUnderTest(t=2)
    assert group.join("m1", "t") == {
        "memberId": "m1",
        "memberEpoch": 2,
        "heartbeatIntervalMs": 5000,
        "assignment": {"topicPartitions": [{"topicId": b"t...............", "partitions": [0, 1]}]},
    }
    assert kinds(group) == [(5, True), (3, True), (7, True), (6, True), (8, True)]
    assert group.described()["groupState"] == "Stable"
    answer = group.join("m2", "t")
    assert (answer["memberEpoch"], partitions_of(answer)) == (2, {})  # it is too soon for another assignment
    assert group.described()["groupState"] == "Assigning"
    group.pass_time(1000)
    answer = group.beat("m1", 2, {"t": [0, 1]})
    assert (answer["memberEpoch"], partitions_of(answer)) == (2, {"t": [0]})
    assert group.described()["groupState"] == "Reconciling"
    assert group.member("m1").state is MemberState.UNREVOKED_PARTITIONS
    answer = group.beat("m2", 2)
    assert (answer["memberEpoch"], partitions_of(answer)) == (3, None)
    assert group.member("m2").state is MemberState.UNRELEASED_PARTITIONS
    answer = group.beat("m1", 2, {"t": [0]})
    assert (answer["memberEpoch"], partitions_of(answer)) == (3, None)
    assert kinds(group) == [(8, True)]
    answer = group.beat("m2", 3)
    assert (answer["memberEpoch"], partitions_of(answer)) == (3, {"t": [1]})
    assert group.described()["groupState"] == "Stable"
    group.beat("m2", 3)
    assert not group.written


def test_a_lost_answer_is_repeated() -> None:
    group = GroupUnderTest(config=BrokerConfig(group_consumer_assignment_interval_ms=0), t=2)
    group.join("m1", "t")
    group.join("m2", "t")
    group.beat("m1", 2, {"t": [0, 1]})
    assert group.beat("m1", 2, {"t": [0]})["memberEpoch"] == 3
    assert group.beat("m1", 2, {"t": [0]})["memberEpoch"] == 3
    assert group.beat("m1", 2, {"t": [0, 1]})["errorCode"] == 110
    assert group.beat("m1", 2)["errorCode"] == 110
    whole = group.beat("m1", 3, {"t": [0]}, rebalanceTimeoutMs=1, subscribedTopicNames=["t"])
    assert partitions_of(whole) == {"t": [0]}


def test_a_member_that_leaves_is_forgotten() -> None:
    group = GroupUnderTest(t=2)
    group.join("m1", "t")
    assert group.send("m1", -1) == {"memberId": "m1", "memberEpoch": -1}
    assert kinds(group) == [(8, False), (7, False), (5, False), (3, True)]
    assert group.described()["groupState"] == "Empty" and not group.timers
    assert group.send("m1", -1)["errorCode"] == 25
    assert group.join("m3", "t")["memberEpoch"] == 2  # that of the last assignment: it is too soon for another


def test_a_silent_member_is_removed() -> None:
    group = GroupUnderTest(t=2)
    group.join("m1", "t")
    group.pass_time(1000)
    group.join("m2", "t")
    group.pass_time(44_000)
    assert group.group is not None and set(group.group.members) == {"m2"}
    assert group.group.epoch == 4
    answer = group.beat("m2", 3)
    assert (answer["memberEpoch"], partitions_of(answer)) == (4, {"t": [0, 1]})


def test_a_member_that_does_not_give_up_partitions_is_removed() -> None:
    group = GroupUnderTest(t=2)
    group.join("m1", "t", rebalanceTimeoutMs=5000)
    group.pass_time(1000)
    group.join("m2", "t")
    for _ in range(5):
        answer = group.beat("m1", 2, {"t": [0, 1]})
        group.pass_time(1000)
    assert answer["memberEpoch"] == 2
    assert group.beat("m1", 2, {"t": [0, 1]})["errorCode"] == 25
    assert partitions_of(group.beat("m2", 3)) == {"t": [0, 1]}


def test_a_static_member_goes_and_comes_back() -> None:
    group = GroupUnderTest(t=2)
    group.join("m1", "t", instanceId="i")
    assert group.join("m2", "t", instanceId="i")["errorCode"] == 111
    assert group.beat("m2", 2, instanceId="i")["errorCode"] == 82
    assert group.beat("m1", 2, instanceId="j")["errorCode"] == 25
    assert group.send("m2", -2, instanceId="i")["errorCode"] == 82
    assert group.send("m1", -2, instanceId="i") == {"memberId": "m1", "memberEpoch": -2}
    assert set(group.member("m1").assigned.values()) == {0}
    answer = group.join("m2", "t", instanceId="i")
    assert (answer["memberEpoch"], partitions_of(answer)) == (2, {"t": [0, 1]})
    assert [kind for kind, _ in kinds(group)] == [8, 7, 5, 5, 7, 8, 8]
    assert group.group is not None and set(group.group.members) == {"m2"} and group.group.epoch == 2


def test_a_static_member_that_stays_away_is_removed() -> None:
    group = GroupUnderTest(t=2)
    group.join("m1", "t", instanceId="i")
    group.send("m1", -2, instanceId="i")
    group.pass_time(45_000)
    assert group.group is not None and not group.group.members


def test_changed_topics_are_assigned_again() -> None:
    group = GroupUnderTest(t=1)
    group.join("m1", "t", "u")
    group.pass_time(1000)
    group.topics = topics(t=3)
    assert partitions_of(group.beat("m1", 2)) == {"t": [0, 1, 2]}
    group.pass_time(1000)
    group.topics = topics(t=3, u=1, other=1)
    assert partitions_of(group.beat("m1", 3)) == {"t": [0, 1, 2], "u": [0]}
    group.pass_time(1000)
    group.topics = topics(t=3, u=1)
    group.beat("m1", 4)
    assert not group.written
    group.topics = topics(u=1)
    answer = group.beat("m1", 4, {"t": [0, 1, 2], "u": [0]})
    assert (answer["memberEpoch"], partitions_of(answer)) == (4, {"u": [0]})
    assert group.beat("m1", 4, {"u": [0]})["memberEpoch"] == 5


def test_a_changed_subscription_takes_partitions_away_at_once() -> None:
    """Even while the assignment is too young to be computed again."""
    group = GroupUnderTest(t=1, u=1)
    group.join("m1", "t", "u")
    answer = group.beat("m1", 2, {"t": [0], "u": [0]}, subscribedTopicNames=["u"])
    assert (answer["memberEpoch"], partitions_of(answer)) == (2, {"u": [0]})
    assert group.member("m1").state is MemberState.UNREVOKED_PARTITIONS
    group.pass_time(1000)
    assert group.beat("m1", 2, {"u": [0]})["memberEpoch"] == 3
    answer = group.beat("m1", 3, {"u": [0]}, subscribedTopicNames=["t"])
    assert partitions_of(answer) == {}


def test_assignors_are_chosen_by_vote() -> None:
    group = GroupUnderTest(t=4)
    group.join("m1", "t", serverAssignor="range")
    assert group.described()["assignorName"] == "range"
    group.join("m2", "t", serverAssignor="uniform")
    group.join("m3", "t", serverAssignor="uniform")
    assert group.described()["assignorName"] == "uniform"
    group.send("m1", -1)
    group.send("m2", -1)
    group.send("m3", -1)
    assert group.described()["assignorName"] == "uniform"


def test_topics_that_match_an_expression_are_assigned() -> None:
    group = GroupUnderTest(a1=1, a2=1, b=1)
    answer = group.join("m1", subscribedTopicNames=None, subscribedTopicRegex="a.*")
    assert (answer["memberEpoch"], partitions_of(answer)) == (1, {})
    assert kinds(group) == [(5, True), (8, True), (16, True), (3, True)]
    assert group.written[2].value == {"topics": ["a1", "a2"], "version": 0, "timestamp": group.now_ms}
    answer = group.beat("m1", 1, {})
    assert (answer["memberEpoch"], partitions_of(answer)) == (2, {"a1": [0], "a2": [0]})
    group.topics = topics(a1=1, a2=1, a3=1, b=1)
    group.pass_time(10_000)
    group.beat("m1", 2)
    assert not group.written  # expressions are resolved at most every ten seconds
    group.pass_time(1)
    group.beat("m1", 2)
    assert kinds(group) == [(16, True), (3, True)]
    assert partitions_of(group.beat("m1", 2)) == {"a1": [0], "a2": [0], "a3": [0]}
    answer = group.join("m2", subscribedTopicNames=None, subscribedTopicRegex="a.*")
    assert group.group is not None and group.group.epoch == 4  # the expression is resolved already
    group.pass_time(1000)
    owned: dict[str, list[int]] = {"a1": [0], "a2": [0], "a3": [0]}
    answer = group.beat("m1", 3, owned, subscribedTopicRegex="", subscribedTopicNames=["b"])
    assert partitions_of(answer) == {}
    group.send("m2", -1)
    assert (16, False) in kinds(group)


def test_expressions_match_only_what_their_member_may_know() -> None:
    group = GroupUnderTest(a1=1, a2=1)
    group.join("m1", subscribedTopicNames=None, subscribedTopicRegex="a.*", may_describe=lambda topic: topic == "a2")
    assert partitions_of(group.beat("m1", 1)) == {"a2": [0]}
