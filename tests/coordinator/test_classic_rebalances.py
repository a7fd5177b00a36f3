"""Rebalances of classic groups: who is waited for, how long, and what the next generation is."""

from __future__ import annotations

import pytest

from tests.coordinator.classic_group import WALL_MS, PlayedGroup, subscription


def test_the_first_rebalance_waits_for_more_members() -> None:
    group = PlayedGroup()
    assert group.join("a") is None and group.state == "PreparingRebalance"
    assert group.written == [
        {
            "protocolType": "",
            "generation": 0,
            "protocol": None,
            "leader": None,
            "currentStateTimestamp": WALL_MS,
            "members": [],
        }
    ]
    group.advance(2_999)
    assert group.join("b") is None  # extends the wait
    group.advance(3_000)
    assert group.answers == {}
    group.advance(1)
    a, b = group.member_ids("a", "b")
    assert group.state == "CompletingRebalance" and group.known.generation == 1
    rows = [{"memberId": name, "groupInstanceId": None, "metadata": subscription("t")} for name in (a, b)]
    named = {"generationId": 1, "protocolType": "consumer", "protocolName": "range", "leader": a}
    assert group.answers["a"] == {**named, "skipAssignment": False, "memberId": a, "members": rows}
    assert group.answers["b"] == {**named, "skipAssignment": False, "memberId": b, "members": []}


def test_the_first_wait_is_not_extended_beyond_the_rebalance_timeout() -> None:
    group = PlayedGroup()
    for number in range(4):
        group.join(f"{number}", rebalanceTimeoutMs=7_000)
        group.advance(1_700)
    group.advance(199)
    assert group.answers == {}  # the wait of 3 s was extended by 3 s, and then by 1 s
    group.advance(1)
    assert len(group.answers) == 4


def test_a_new_member_makes_all_others_join_again() -> None:
    group = PlayedGroup()
    [a] = group.stable("a")
    assert group.join("b") is None and group.state == "PreparingRebalance"
    assert group.heartbeat(a) == 27
    assert group.sync("sync again", a) == {"errorCode": 27}
    group.join("a again", a)
    assert group.state == "CompletingRebalance" and group.known.generation == 2
    assert group.answers["a again"]["leader"] == a and len(group.answers["a again"]["members"]) == 2
    assert group.answers["b"]["members"] == []


def test_members_that_do_not_join_again_in_time_are_removed() -> None:
    group = PlayedGroup()
    a, b = group.stable("a", "b", sessionTimeoutMs=100_000)
    group.join("b again", b, protocols={"range": subscription("u")}, sessionTimeoutMs=100_000)
    group.advance(59_999)
    assert group.state == "PreparingRebalance" and a in group.known.members
    group.advance(1)
    assert set(group.known.members) == {b} and group.answers["b again"]["leader"] == b
    assert group.heartbeat(a) == 25


def test_static_members_that_do_not_join_again_stay() -> None:
    group = PlayedGroup()
    [a] = group.stable("a", sessionTimeoutMs=100_000, groupInstanceId="i")
    group.join("b", sessionTimeoutMs=100_000)
    group.advance(60_000)
    [b] = group.member_ids("b")
    assert set(group.known.members) == {a, b} and group.known.leader == b
    assert [row["groupInstanceId"] for row in group.answers["b"]["members"]] == ["i", None]


def test_the_wait_begins_again_if_nobody_joins() -> None:
    group = PlayedGroup()
    for name in "ij":
        group.join(name, groupInstanceId=name, sessionTimeoutMs=200_000)
    group.advance(6_000)
    i, j = group.member_ids("i", "j")
    for member in (i, j):
        group.sync(f"sync {member}", member, {})
    group.leave("", instance="i")  # begins a rebalance, which j does not notice
    assert group.state == "PreparingRebalance"
    group.advance(60_000)
    assert group.state == "PreparingRebalance" and group.known.generation == 1
    group.advance(150_000)  # the end of j's session
    assert group.state == "Empty" and group.known.generation == 2


def test_a_rebalance_waits_for_ids_that_were_given_out() -> None:
    group = PlayedGroup()
    [a] = group.stable("a")
    pending = group.join("pending", version=4)["memberId"]
    group.join("a again", a)
    assert group.state == "PreparingRebalance"
    assert group.join("joined", pending, version=4)["generationId"] == 2
    assert group.answers["a again"]["generationId"] == 2


def test_an_id_that_is_not_used_is_forgotten() -> None:
    group = PlayedGroup()
    [a] = group.stable("a")
    pending = group.join("pending", version=4)["memberId"]
    group.join("a again", a)
    group.advance(9_999)
    assert "a again" not in group.answers
    group.advance(1)
    assert group.answers["a again"]["generationId"] == 2
    assert group.join("late", pending, version=4)["errorCode"] == 25


def test_members_that_do_not_sync_in_time_are_removed() -> None:
    group = PlayedGroup()
    group.join("a", sessionTimeoutMs=100_000)
    group.join("b", sessionTimeoutMs=100_000)
    group.advance(6_000)
    [b] = group.member_ids("b")
    group.sync("sync b", b)
    group.advance(60_000)
    assert group.answers["sync b"] == {"errorCode": 27}
    assert set(group.known.members) == {b} and group.state == "PreparingRebalance" and group.known.leader == b
    assert group.join("b again", b)["generationId"] == 2


def test_a_follower_that_does_not_sync_is_removed_from_a_stable_group() -> None:
    group = PlayedGroup()
    group.join("a", sessionTimeoutMs=100_000)
    group.join("b", sessionTimeoutMs=100_000)
    group.advance(6_000)
    a, b = group.member_ids("a", "b")
    assert group.sync("sync a", a, {a: b"0", b: b"1"}) == {
        "protocolType": "consumer", "protocolName": "range", "assignment": b"0"
    }  # fmt: skip
    assert group.state == "Stable"
    group.advance(60_000)
    assert set(group.known.members) == {a} and group.state == "PreparingRebalance"


def test_the_protocol_that_most_members_prefer_is_chosen() -> None:
    data = subscription("t")
    group = PlayedGroup()
    group.join("a", protocols={"range": data, "sticky": data, "rare": data})
    group.join("b", protocols={"sticky": data, "range": data})
    group.join("c", protocols={"sticky": data, "range": data})
    assert group.join("d", protocols={"rare": data})["errorCode"] == 23  # not all have it
    group.advance(6_000)
    assert group.answers["a"]["protocolName"] == "sticky"


def test_a_tie_is_decided_as_in_kafka() -> None:
    """The first one in the order of Java's HashMap wins."""
    data = subscription("t")
    for names in (("range", "roundrobin"), ("roundrobin", "range")):
        group = PlayedGroup()
        group.join("a", protocols=dict.fromkeys(names, data))
        group.join("b", protocols=dict.fromkeys(reversed(names), data))
        group.advance(6_000)
        assert group.answers["a"]["protocolName"] == "range"


def test_the_last_member_leaves_an_empty_group() -> None:
    group = PlayedGroup()
    [a] = group.stable("a")
    group.advance(500)
    assert group.leave(a) == [0]
    assert group.state == "Empty" and group.known.generation == 2 and not group.timers
    written = group.written[-1]
    assert written is not None and (written["generation"], written["protocolType"], written["members"]) == (
        2, "consumer", []
    )  # fmt: skip
    assert written["currentStateTimestamp"] == WALL_MS + group.now_ms
    assert group.join("b") is None and group.answers.get("b") is None  # and the next one waits again
    group.advance(3_000)
    assert group.answers["b"]["generationId"] == 3


@pytest.mark.parametrize("leaver", [0, 1])
def test_the_others_continue_when_a_member_leaves(leaver: int) -> None:
    group = PlayedGroup()
    members = group.stable("a", "b")
    stays = members[1 - leaver]
    group.leave(members[leaver])
    assert group.state == "PreparingRebalance" and group.known.leader == stays
    assert group.join("again", stays)["leader"] == stays


def test_a_member_that_leaves_while_it_waits_is_answered() -> None:
    group = PlayedGroup()
    [a] = group.stable("a")
    group.join("b")
    waiting = next(name for name in group.known.members if name != a)
    assert group.leave(waiting) == [0]
    assert group.answers["b"]["errorCode"] == 25 and group.answers["b"]["memberId"] == ""
    assert group.state == "PreparingRebalance"  # a still has to join again
    assert group.join("a again", a)["generationId"] == 2
