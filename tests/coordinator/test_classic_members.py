"""Members of classic groups: how they join, come back, stay alive, and are removed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.coordinator.classic_group import PlayedGroup, subscription

OTHER = {"range": subscription("u")}


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"groupId": ""}, 24),
        ({"sessionTimeoutMs": 5_999}, 26),
        ({"sessionTimeoutMs": 1_800_001}, 26),
        ({"member": "nobody"}, 25),
    ],
)
def test_a_refused_join_creates_no_group(fields: dict[str, Any], code: int) -> None:
    group = PlayedGroup()
    assert group.join("a", **fields)["errorCode"] == code
    assert group.group is None and group.written == []


@pytest.mark.parametrize("fields", [{"protocols": {}}, {"protocolType": ""}])
def test_a_join_without_protocols_leaves_an_empty_group(fields: dict[str, Any]) -> None:
    """As in Kafka: the group is created before the protocols are checked."""
    group = PlayedGroup()
    assert group.join("a", **fields)["errorCode"] == 23
    assert group.state == "Empty" and len(group.written) == 1


@pytest.mark.parametrize("version", [3, 4, 9])
def test_from_version_4_on_a_member_has_to_come_back_with_its_id(version: int) -> None:
    group = PlayedGroup()
    answer = group.join("a", version=version)
    if version < 4:
        assert answer is None and len(group.known.members) == 1
        return
    assert answer["errorCode"] == 79 and answer["memberId"].startswith("client-")
    assert group.state == "Empty" and group.known.pending == {answer["memberId"]}
    assert group.join("again", answer["memberId"], version=version) is None
    assert set(group.known.members) == {answer["memberId"]} and not group.known.pending


def test_in_version_0_the_session_timeout_is_also_the_rebalance_timeout() -> None:
    group = PlayedGroup()
    group.join("a", version=0, rebalanceTimeoutMs=-1)
    [member] = group.known.members.values()
    assert member.rebalance_timeout_ms == member.session_timeout_ms == 10_000


def test_a_join_is_repeated_while_the_leader_assigns() -> None:
    group = PlayedGroup()
    group.join("a")
    group.join("b")
    group.advance(6_000)
    a, b = group.member_ids("a", "b")
    assert group.join("a again", a) == group.answers["a"]
    assert group.join("b again", b) == group.answers["b"]
    group.sync("sync b", b)
    assert group.join("a changed", a, protocols=OTHER) is None  # something new begins a rebalance
    assert group.answers["sync b"] == {"errorCode": 27}


def test_a_stable_group_rebalances_if_a_join_changes_something_or_is_the_leaders() -> None:
    group = PlayedGroup()
    a, b = group.stable("a", "b")
    assert group.join("b again", b) == group.answers["b"] and group.state == "Stable"
    assert group.join("b changed", b, protocols=OTHER) is None and group.state == "PreparingRebalance"
    group.join("a again", a)
    for member in (a, b):
        group.sync(f"second {member}", member)
    assert group.state == "Stable"
    assert group.join("a leads", a) is None and group.state == "PreparingRebalance"


def test_a_full_group_accepts_nobody_else() -> None:
    group = PlayedGroup(group_max_size=2)
    a, b = group.stable("a", "b")
    assert group.join("c")["errorCode"] == 81
    group.join("b again", b, protocols=OTHER)
    assert group.join("c too", version=3) is None  # while members join, the first ones are accepted
    assert group.join("a late", a)["errorCode"] == 81
    assert a not in group.known.members


def test_only_members_of_the_generation_may_sync_and_heartbeat() -> None:
    group = PlayedGroup()
    [a] = group.stable("a")
    assert group.heartbeat(a) == 0
    for fields, code in (
        ({"member": "nobody"}, 25),
        ({"member": a, "generationId": 7}, 22),
        ({"member": a, "groupInstanceId": "i"}, 25),
    ):
        assert group.heartbeat(**fields) == code
        assert group.sync(f"sync {code} {fields}", **fields) == {"errorCode": code}
    assert group.sync("sync type", a, protocolType="other") == {"errorCode": 23}
    assert group.sync("sync name", a, protocolName="other") == {"errorCode": 23}
    assert group.sync("sync", a)["assignment"] == a.encode()


def test_an_empty_group_knows_nobody() -> None:
    group = PlayedGroup()
    [a] = group.stable("a")
    group.leave(a)
    assert group.heartbeat(a) == 25
    assert group.sync("sync late", a) == {"errorCode": 25}
    assert group.join("late", a)["errorCode"] == 25
    assert group.leave(a) == [25]


def test_a_session_ends_without_heartbeats() -> None:
    group = PlayedGroup()
    a, b = group.stable("a", "b")
    group.advance(9_999)
    assert group.heartbeat(a) == 0 and b in group.known.members
    group.advance(1)
    assert group.heartbeat(a) == 27 and set(group.known.members) == {a}


def test_a_member_that_waits_need_not_heartbeat() -> None:
    group = PlayedGroup()
    group.join("a", rebalanceTimeoutMs=100_000)
    group.join("b", rebalanceTimeoutMs=100_000)
    group.advance(6_000)
    a, b = group.member_ids("a", "b")
    group.sync("sync b", b)
    for _ in range(4):
        group.advance(9_000)
        assert group.heartbeat(a) == 0
    group.sync("sync a", a, {b: b"1"})
    assert group.answers["sync b"]["assignment"] == b"1"
    group.advance(9_999)
    group.heartbeat(a)
    assert b in group.known.members
    group.advance(1)  # since its answer, b has to send heartbeats
    assert b not in group.known.members


def test_a_new_member_has_five_minutes_to_be_let_in() -> None:
    group = PlayedGroup()
    [a] = group.stable("a", sessionTimeoutMs=1_000_000, rebalanceTimeoutMs=1_000_000)
    group.join("b", rebalanceTimeoutMs=1_000_000)
    group.advance(299_999)
    assert "b" not in group.answers
    group.advance(1)
    assert group.answers["b"]["errorCode"] == 25 and set(group.known.members) == {a}


@pytest.mark.parametrize("version", [5, 8, 9])
def test_a_static_member_comes_back_without_a_rebalance(version: int) -> None:
    group = PlayedGroup()
    [old] = group.stable("a", version=version, groupInstanceId="i")
    answer = group.join("back", version=version, groupInstanceId="i")
    new = answer["memberId"]
    assert new != old and new.startswith("i-") and group.state == "Stable"
    assert answer["generationId"] == 1 and answer["skipAssignment"] is (version >= 9)
    assert (answer["leader"], len(answer["members"])) == ((new, 1) if version >= 9 else (old, 0))
    written = group.written[-1]
    assert written is not None and [row["memberId"] for row in written["members"]] == [new]
    assert group.sync("sync new", new, groupInstanceId="i")["assignment"] == old.encode()
    assert group.heartbeat(old, groupInstanceId="i") == 82
    assert group.heartbeat(old) == 25
    assert group.join("old again", old, groupInstanceId="i")["errorCode"] == 82
    assert group.join("unknown", old, groupInstanceId="j")["errorCode"] == 25
    assert group.leave(old, instance="i") == [82]
    group.advance(10_000)
    assert group.state == "Empty"  # the session is the new one's


def test_a_static_member_that_comes_back_fences_its_waiting_requests() -> None:
    group = PlayedGroup()
    group.join("a", groupInstanceId="i")
    group.join("b")
    group.join("a back", groupInstanceId="i")
    assert group.answers["a"]["errorCode"] == 82
    group.advance(6_000)
    a, b = group.member_ids("a back", "b")
    group.sync("sync a", a, groupInstanceId="i") if group.known.leader != a else group.sync("sync b", b)
    assert group.join("a third", groupInstanceId="i") is None  # the leader may have assigned to the old id
    assert group.state == "PreparingRebalance"


def test_a_static_member_with_other_protocols_begins_a_rebalance() -> None:
    group = PlayedGroup()
    group.stable("a", groupInstanceId="i")
    answer = group.join("back", groupInstanceId="i", protocols={"sticky": b"", "range": b""})
    assert answer["generationId"] == 2 and answer["protocolName"] == "sticky"


def test_an_administrator_removes_static_members_by_their_instance() -> None:
    group = PlayedGroup()
    group.stable("a", groupInstanceId="i")
    assert group.leave("", instance="j") == [25]
    assert group.leave("", instance="i") == [0]
    assert group.state == "Empty"


def test_after_a_restart_members_have_a_new_session() -> None:
    group = PlayedGroup()
    a, _ = group.stable("a", "b")
    group.advance(9_000)
    group.restart()
    assert group.state == "Stable" and group.known.generation == 1 and group.known.subscribed_topics == frozenset({"t"})
    group.advance(9_000)
    assert group.heartbeat(a) == 0
    group.advance(1_000)
    assert set(group.known.members) == {a} and group.state == "PreparingRebalance"


def test_a_group_that_is_too_large_after_a_restart_has_to_shrink() -> None:
    group = PlayedGroup()
    a, b = group.stable("a", "b")
    group.config = replace(group.config, group_max_size=1)
    group.restart()
    assert group.state == "PreparingRebalance"
    group.join("a again", a)
    assert group.join("b again", b)["errorCode"] == 81
