"""Members of the classic protocol in consumer groups, and groups that change their kind: the answers are Kafka's."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.format.messages.consumer_protocol import encode_assignment
from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from tests.broker.group_twin import Group, GroupTwin
from tests.format.messages.encoded import encode_subscription

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("broker")]


class ClassicMember:
    """A member that speaks the classic protocol, in a group that may also have members of the consumer protocol."""

    def __init__(self, group: Group, twin: GroupTwin, name: str, **fields: Any) -> None:
        self._group = group
        self._twin = twin
        self._name = f"{group.group_id}-{name}"
        self._fields = {"protocolType": "consumer", "groupInstanceId": None, **fields}
        self.generation = 0

    @property
    def member_id(self) -> str:
        return f"id of {self._name}"

    def join(self, *owned: int, is_new: bool = False, version: int = 9, **fields: Any) -> Row:
        rows = [{"topic": "t", "partitions": list(owned)}] if owned else []
        metadata = encode_subscription(1, {"topics": ["t"], "userData": None, "ownedPartitions": rows})
        body = {
            "groupId": self._group.group_id,
            "sessionTimeoutMs": 10_000,
            "rebalanceTimeoutMs": 60_000,
            "memberId": "" if is_new else self.member_id,
            "protocols": [{"name": "range", "metadata": metadata}],
            **self._fields,
            **fields,
        }
        answer = self._twin.ask(apis.JOIN_GROUP, version, body)
        assert answer is not None
        if is_new:
            self._twin.learn(self._name, "memberId")
        if answer["errorCode"] == 79:
            return self.join(*owned, version=version, **fields)
        self.generation = answer["generationId"]
        return answer

    def sync(self, assigned: bytes | None = None, **fields: Any) -> Row:
        assignments = [] if assigned is None else [{"memberId": self.member_id, "assignment": assigned}]
        body = {"groupId": self._group.group_id, "generationId": self.generation, "memberId": self.member_id}
        names = {
            "groupInstanceId": self._fields["groupInstanceId"],
            "protocolType": "consumer",
            "protocolName": "range",
        }
        answer = self._twin.ask(apis.SYNC_GROUP, 5, {**body, **names, "assignments": assignments, **fields})
        assert answer is not None
        return answer

    def beat(self, **fields: Any) -> int:
        body = {"groupId": self._group.group_id, "generationId": self.generation, "memberId": self.member_id}
        instance = {"groupInstanceId": self._fields["groupInstanceId"]}
        answer = self._twin.ask(apis.HEARTBEAT, 4, {**body, **instance, **fields})
        assert answer is not None
        return int(answer["errorCode"])

    def leave(self) -> None:
        member = {"memberId": self.member_id, "groupInstanceId": self._fields["groupInstanceId"]}
        self._twin.ask(apis.LEAVE_GROUP, 5, {"groupId": self._group.group_id, "members": [member]})


ALL = encode_assignment(1, {"assignedPartitions": [{"topic": "t", "partitions": [0, 1]}], "userData": None})


def test_a_classic_group_becomes_a_consumer_group_and_a_classic_one_again(group: Group, group_twin: GroupTwin) -> None:
    classic = ClassicMember(group, group_twin, "c")
    classic.join(is_new=True)
    classic.sync(ALL)
    assert classic.beat() == 0
    group.join("m1", "t")
    group.described()
    assert classic.beat() == 27
    assert classic.sync()["errorCode"] == 27
    classic.join(0, 1)
    classic.sync()
    assert classic.beat() == 27  # it has to give up a partition
    group.described()
    classic.join(0)
    classic.sync()
    assert classic.beat() == 0
    assert group.send("m1", 2)["assignment"] is not None
    assert group.described()["groupState"] == "Stable"
    group.send("m1", -1)
    group.described()
    assert classic.beat() == 27
    group_twin.ask(apis.DESCRIBE_GROUPS, 6, {"groups": [group.group_id], "includeAuthorizedOperations": False})
    classic.join(0)
    classic.sync(ALL)
    assert classic.beat() == 0


def test_classic_members_join_a_consumer_group(group: Group, group_twin: GroupTwin) -> None:
    group.join("m1", "t")
    classic = ClassicMember(group, group_twin, "c")
    classic.join(is_new=True)
    assert classic.sync()["errorCode"] == 0
    assert classic.beat() == 0
    group.send("m1", 2, {"t": [0, 1]})
    assert classic.beat() == 0
    group.send("m1", 2, {"t": [0]})
    assert classic.beat() == 27
    classic.join()
    classic.sync()
    assert classic.beat() == 0
    group.described()
    assert classic.beat(generationId=1) == 22
    assert classic.beat(memberId="nobody") == 25
    assert classic.beat(memberId="m1") == 25
    assert classic.sync(generationId=1)["errorCode"] == 22
    assert classic.sync(protocolName="roundrobin")["errorCode"] == 23
    assert classic.sync(protocolType="connect")["errorCode"] == 23
    ClassicMember(group, group_twin, "d").join(is_new=True, protocolType="connect")
    ClassicMember(group, group_twin, "e").join(is_new=True, protocols=[{"name": "sticky", "metadata": b"\0\1\0\0\0\0"}])
    classic.leave()
    group.described()
    group.send("m1", 3)
    group.described()


def test_a_static_classic_member_takes_the_place_of_another(group: Group, group_twin: GroupTwin) -> None:
    group.join("m1", "t", instanceId="i")
    group.join("m2", "t")
    group.send("m1", 2, {"t": [0, 1]}, instanceId="i")
    group.send("m1", 2, {"t": [0]}, instanceId="i")
    group.send("m2", 3)
    classic = ClassicMember(group, group_twin, "c", groupInstanceId="i")
    classic.join(0, is_new=True)
    classic.sync()
    assert classic.beat() == 0
    group.described()
