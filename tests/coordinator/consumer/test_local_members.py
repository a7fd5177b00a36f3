"""Members in the coordinator's own process: they take part like others, but leave no records."""

from __future__ import annotations

from typing import Any

from tests.coordinator.consumer.groups import GroupUnderTest, partitions_of

LOCAL: dict[str, Any] = {"session_timeout_ms": 300_000, "serverAssignor": "roundrobin"}


def test_alone_they_write_nothing() -> None:
    group = GroupUnderTest(t=2)
    assert partitions_of(group.join("consumer-1", "t", **LOCAL)) == {"t": [0, 1]}
    assert partitions_of(group.join("consumer-2", "t", **LOCAL)) == {}
    assert partitions_of(group.beat("consumer-1", 2, {"t": [0, 1]}, **LOCAL)) == {"t": [0]}
    group.beat("consumer-1", 2, {"t": [0]}, **LOCAL)
    assert partitions_of(group.beat("consumer-2", 3, **LOCAL)) == {"t": [1]}
    group.send("consumer-1", -1, **LOCAL)
    group.send("consumer-2", -1, **LOCAL)
    assert group.group is None and group.log == []


def test_they_have_their_own_session_timeout() -> None:
    group = GroupUnderTest(t=2)
    group.join("consumer-1", "t", **LOCAL)
    group.pass_time(299_999)
    assert group.group is not None
    group.pass_time(1)
    assert group.group is None


def test_others_get_records_by_which_a_reader_assigns_again() -> None:
    """For a process that reads the records, the local members are gone, and the others share their partitions."""
    group = GroupUnderTest(t=2)
    group.join("consumer-1", "t", **LOCAL)
    group.pass_time(1000)
    group.join("wire", "t")
    group.beat("consumer-1", 2, {"t": [0, 1]}, **LOCAL)
    group.beat("consumer-1", 2, {"t": [0]}, **LOCAL)
    assert partitions_of(group.beat("wire", 3)) == {"t": [1]}
    names = {write.key.get("memberId") for write in group.written}
    assert names == {"wire"}
    group.group = group.read_back()
    assert group.group is not None and set(group.group.members) == {"wire"}
    group.pass_time(1000)
    assert partitions_of(group.beat("wire", 3)) == {"t": [0, 1]}


def test_the_hash_is_right_again_when_they_have_left() -> None:
    group = GroupUnderTest(t=2)
    group.join("wire", "t")
    group.join("consumer-1", "t", **LOCAL)
    group.send("consumer-1", -1, **LOCAL)
    assert group.group is not None and group.read_back() == group.group
