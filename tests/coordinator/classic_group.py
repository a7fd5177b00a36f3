"""A classic group under test: its machine, a clock that the test moves, and the answers so far."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from octavo.config import BrokerConfig
from octavo.coordinator.effects import CancelTimer, Moment, Reply, SetTimer, Write
from octavo.coordinator.groups.classic import sessions, sync
from octavo.coordinator.groups.classic.group import ClassicGroup, ClassicOutcome
from octavo.coordinator.groups.classic.join import Caller, JoinRequest, join
from octavo.format.messages.schema import Row
from tests.format.messages.encoded import encode_subscription

WALL_MS = 1_000_000


def subscription(*topics: str) -> bytes:
    return encode_subscription(0, {"topics": list(topics), "userData": None})


class PlayedGroup:
    """Does what the coordinator does with the machine. Tokens are words; `answers` has the answer to each."""

    def __init__(self, **config: Any) -> None:
        self.config = BrokerConfig(**config)
        self.group: ClassicGroup | None = None
        self.now_ms = 0
        self.answers: dict[Hashable, Any] = {}
        self.timers: dict[Hashable, int] = {}
        self.written: list[Row | None] = []  # the values of the records, in the order of the writes

    @property
    def state(self) -> str:
        return "none" if self.group is None else self.group.state.value

    @property
    def known(self) -> ClassicGroup:
        assert self.group is not None
        return self.group

    @property
    def moment(self) -> Moment:
        return Moment(self.now_ms, WALL_MS + self.now_ms)

    def join(self, token: str, member: str = "", version: int = 3, **fields: Any) -> Any:
        """Send a JoinGroup; returns the answer if there is one already."""
        protocols = fields.pop("protocols", {"range": subscription("t")})
        body = {
            "groupId": "g",
            "memberId": member,
            "groupInstanceId": None,
            "sessionTimeoutMs": 10_000,
            "rebalanceTimeoutMs": 60_000,
            "protocolType": "consumer",
            "protocols": [{"name": name, "metadata": metadata} for name, metadata in protocols.items()],
            **fields,
        }
        request = JoinRequest(body, Caller("client", "/host", version), token, self.config)
        self._take(join(self.group, request, self.moment))
        return self.answers.get(token)

    def sync(self, token: str, member: str, assigned: dict[str, bytes] | None = None, **fields: Any) -> Any:
        """Send a SyncGroup; returns the answer if there is one already."""
        rows = [{"memberId": name, "assignment": data} for name, data in (assigned or {}).items()]
        named = {"groupInstanceId": None, "protocolType": None, "protocolName": None}
        body = {"memberId": member, "generationId": self.known.generation, "assignments": rows, **named, **fields}
        self._take(sync.sync(self.known, body, token, self.moment))
        return self.answers.get(token)

    def heartbeat(self, member: str, **fields: Any) -> int:
        body = {"memberId": member, "generationId": self.known.generation, "groupInstanceId": None, **fields}
        self._take(sessions.heartbeat(self.known, body, "heartbeat", self.moment))
        code: int = self.answers.pop("heartbeat")["errorCode"]
        return code

    def leave(self, *members: str, instance: str | None = None) -> list[int]:
        rows = [{"memberId": member, "groupInstanceId": instance} for member in members]
        self._take(sessions.leave(self.known, rows, "leave", self.moment, self.config))
        return [row["errorCode"] for row in self.answers.pop("leave")["members"]]

    def advance(self, by_ms: int) -> None:
        """Let time pass, and handle the timers that run out."""
        end_ms = self.now_ms + by_ms
        while due := [(at_ms, timer) for timer, at_ms in self.timers.items() if at_ms <= end_ms]:
            self.now_ms, timer = min(due, key=lambda one: one[0])
            del self.timers[timer]
            self._take(sessions.expired(self.known, timer, self.moment, self.config))
        self.now_ms = end_ms

    def restart(self) -> None:
        """Go on with the last record that was written, as after a crash."""
        from octavo.coordinator.groups.classic.records import group_of

        row = self.written[-1]
        assert row is not None
        self.timers.clear()
        self._take(sessions.loaded(group_of("g", row), self.moment, self.config))

    def member_ids(self, *tokens: str) -> list[str]:
        """The ids that members got in their answers."""
        return [self.answers[token]["memberId"] for token in tokens]

    def stable(self, *tokens: str, **fields: Any) -> list[str]:
        """Make members join a new group and sync; each gets its own id as its assignment."""
        for token in tokens:
            self.join(token, **fields)
        self.advance(self.config.group_initial_rebalance_delay_ms * 2)
        members = self.member_ids(*tokens)
        for member in members:
            self.sync(f"sync {member}", member, {name: name.encode() for name in members})
        assert self.state == "Stable"
        return members

    def _take(self, outcome: ClassicOutcome) -> None:
        self.group = outcome.group
        for effect in outcome.effects:
            match effect:
                case Reply(token, answer):
                    assert token not in self.answers, f"{token} was answered already"
                    self.answers[token] = answer
                case SetTimer(name, at_ms):
                    self.timers[name] = at_ms
                case CancelTimer(name):
                    self.timers.pop(name, None)
                case Write(_, _, value):
                    self.written.append(value)
