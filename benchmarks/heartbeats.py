"""Simulated members of many groups: each has its own connection, only sends heartbeats, and needs little CPU time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

from tests.broker.group_requests import beating, joining, syncing
from tests.broker.raw import RawClient

from benchmarks import clocks
from benchmarks.broker import Server
from octavo.format.messages.codec import encode
from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from octavo.format.protocol.apis import Api

_TICK_SECONDS = 0.01
_ROUNDS = 4


class Member:
    """A connection, and the heartbeat that it repeats."""

    def __init__(self, server: Server) -> None:
        self.client = RawClient(server.address)

    def told(self, api: Api, version: int) -> Row:
        """The answer to the last request."""
        frame = self.client.receive()
        assert frame is not None, "the broker closed the connection"
        answer = self.client.read(api, version, frame)
        assert not answer["errorCode"], answer
        return answer

    def beats_with(self, api: Api, version: int, body: Row) -> None:
        self._frame = self.client.frame(api, version, encode(api.request, version, body))
        self._told = partial(self.told, api, version)

    def beat(self) -> None:
        self.client.socket.sendall(self._frame)

    def heard(self) -> None:
        self._told()


def classic_members(server: Server, topic: str, groups: int, size: int) -> list[Member]:
    """All members of a group join during its initial delay."""
    members = [[Member(server) for _ in range(size)] for _ in range(groups)]
    for number, group in enumerate(members):
        for member in group:
            member.client.send(apis.JOIN_GROUP, 3, joining(f"classic-{number}"))
    for number, group in enumerate(members):
        answers = [member.told(apis.JOIN_GROUP, 3) for member in group]
        ids = [answer["memberId"] for answer in answers]
        generation, leader = answers[0]["generationId"], answers[0]["leader"]
        for member, member_id in zip(group, ids, strict=True):
            assigned = ids if member_id == leader else ()
            member.client.send(apis.SYNC_GROUP, 3, syncing(f"classic-{number}", member_id, generation, *assigned))
        for member, member_id in zip(group, ids, strict=True):
            member.told(apis.SYNC_GROUP, 3)
            member.beats_with(apis.HEARTBEAT, 3, beating(f"classic-{number}", member_id, generation))
    return [member for group in members for member in group]


def consumer_members(server: Server, topic: str, groups: int, size: int) -> list[Member]:
    """Members join one after the other, then heartbeat until all have the group's epoch."""
    api, version = apis.CONSUMER_GROUP_HEARTBEAT, 1
    members = []
    for number in range(groups):
        group = [(Member(server), f"{number}-{place}") for place in range(size)]
        body: Row = {
            "groupId": f"consumer-{number}", "rebalanceTimeoutMs": 60_000, "subscribedTopicNames": [topic],
            "topicPartitions": [],
        }  # fmt: skip
        epochs = dict.fromkeys((member_id for _, member_id in group), 0)
        while len(set(epochs.values())) > 1 or 0 in epochs.values():
            for member, member_id in group:
                kept = body if not epochs[member_id] else {"groupId": body["groupId"]}
                member.client.send(api, version, {**kept, "memberId": member_id, "memberEpoch": epochs[member_id]})
                epochs[member_id] = member.told(api, version)["memberEpoch"]
        for member, member_id in group:
            still = {"groupId": body["groupId"], "memberId": member_id, "memberEpoch": epochs[member_id]}
            member.beats_with(api, version, still)
            members.append(member)
    return members


def steady_share(server: Server, members: list[Member], seconds: float) -> float:
    """The share of a core that the broker uses while each member heartbeats once every `seconds`. Closes the
    connections."""
    started, cpu = time.perf_counter(), clocks.of_process(server.pid)
    for number in range(_ROUNDS):
        for few in _paced(members, seconds):
            for member in few:
                if number:
                    member.heard()
                member.beat()
    share = (clocks.of_process(server.pid) - cpu) / (time.perf_counter() - started)
    for member in members:
        member.client.socket.close()
    return share


def _paced(members: list[Member], seconds: float) -> Iterator[list[Member]]:
    """All members, a few at a time, spread evenly over `seconds`."""
    started, done = time.perf_counter(), 0
    while done < len(members):
        time.sleep(_TICK_SECONDS)
        due = min(len(members), int(len(members) * (time.perf_counter() - started) / seconds))
        yield members[done:due]
        done = due
