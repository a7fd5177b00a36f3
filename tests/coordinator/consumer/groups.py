"""A consumer group under test: only the test moves its time. After each event, its records are read back and must give
the same group, unless it has local members."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from octavo.config import BrokerConfig
from octavo.coordinator.effects import CancelTimer, Effect, Moment, Reply, SetTimer, Write
from octavo.coordinator.groups.consumer.describe import describe
from octavo.coordinator.groups.consumer.group import ConsumerGroup, Member
from octavo.coordinator.groups.consumer.heartbeat import heartbeat
from octavo.coordinator.groups.consumer.leave import expired
from octavo.coordinator.groups.consumer.replay import replay
from octavo.coordinator.groups.consumer.request import Heartbeat
from octavo.coordinator.groups.consumer.topics import GroupTopic, GroupTopics
from octavo.coordinator.groups.consumer.transition import View
from octavo.format.messages.consumer_offsets import decode_consumer_offsets_record
from octavo.format.messages.records import encode_key, encode_versioned
from octavo.format.messages.schema import Row

UNCHANGED: Row = {
    "groupId": "g",
    "instanceId": None,
    "rackId": None,
    "rebalanceTimeoutMs": -1,
    "subscribedTopicNames": None,
    "subscribedTopicRegex": None,
    "serverAssignor": None,
    "topicPartitions": None,
}
FIRST_MS = 1_000_000


def topic_id(name: str) -> bytes:
    return name.encode().ljust(16, b".")


def topics(**counts: int) -> GroupTopics:
    """Topics by name, with their numbers of partitions."""
    return GroupTopics(GroupTopic(name, topic_id(name), tuple(range(count))) for name, count in counts.items())


def rows(owned: Mapping[str, list[int]]) -> list[Row]:
    return [{"topicId": topic_id(name), "partitions": numbers} for name, numbers in owned.items()]


class GroupUnderTest:
    """Keeps the group and its timers, as a coordinator would."""

    def __init__(self, *, config: BrokerConfig | None = None, **counts: int) -> None:
        self.group: ConsumerGroup | None = None
        self.topics = topics(**counts)
        self.config = config or BrokerConfig()
        self.now_ms = FIRST_MS
        self.timers: dict[Hashable, int] = {}
        self.written: list[Write] = []  # what the last event wrote
        self.log: list[tuple[bytes, bytes | None]] = []

    @property
    def view(self) -> View:
        return View(Moment(self.now_ms, self.now_ms), self.topics, self.config)

    def send(
        self,
        member_id: str,
        epoch: int,
        *,
        version: int = 1,
        session_timeout_ms: int | None = None,
        may_describe: Callable[[str], bool] = lambda topic: True,
        **fields: Any,
    ) -> Row:
        """The answer to a heartbeat; fields that are not given are unchanged."""
        body = {**UNCHANGED, "memberId": member_id, "memberEpoch": epoch, **fields}
        request = Heartbeat(body, version, "client", "/127.0.0.1", 7, may_describe, session_timeout_ms)
        outcome = heartbeat(self.group, request, self.view)
        replies = [effect for effect in outcome.effects if isinstance(effect, Reply)]
        assert [reply.token for reply in replies] == [7]
        self._adopt(outcome.group, outcome.effects)
        answer: Row = replies[0].answer
        return answer

    def join(self, member_id: str, *names: str, **fields: Any) -> Row:
        whole = {"rebalanceTimeoutMs": 60_000, "subscribedTopicNames": list(names), "topicPartitions": []}
        return self.send(member_id, 0, **{**whole, **fields})

    def beat(self, member_id: str, epoch: int, owned: Mapping[str, list[int]] | None = None, **fields: Any) -> Row:
        return self.send(member_id, epoch, topicPartitions=None if owned is None else rows(owned), **fields)

    def pass_time(self, by_ms: int) -> None:
        """Let time pass, and the timers fire in order."""
        until = self.now_ms + by_ms
        while due := [(at, repr(name), name) for name, at in self.timers.items() if at <= until]:
            at, _, name = min(due)
            self.now_ms = max(self.now_ms, at)
            del self.timers[name]
            assert self.group is not None
            self._adopt(*expired(self.group, name, self.view))
        self.now_ms = until

    def member(self, member_id: str) -> Member:
        assert self.group is not None
        return self.group.members[member_id]

    def assigned(self, member_id: str) -> dict[str, list[int]]:
        """What a member has, by topic."""
        found: dict[str, list[int]] = {}
        for place in sorted(self.member(member_id).assigned):
            found.setdefault(place.topic_id.rstrip(b".").decode(), []).append(place.partition)
        return found

    def described(self) -> Row:
        assert self.group is not None
        return describe(self.group, self.topics, self.config)

    def read_back(self) -> ConsumerGroup | None:
        """The group that results from reading the records."""
        group: ConsumerGroup | None = None
        for key, value in self.log:
            record = decode_consumer_offsets_record(key, value)
            group = replay(group, record.key.type.id, record.key.data, record.value and record.value.data)
        return group

    def _adopt(self, group: ConsumerGroup | None, effects: list[Effect]) -> None:
        self.group = group
        self.written = [effect for effect in effects if isinstance(effect, Write)]
        for effect in effects:
            if isinstance(effect, SetTimer):
                self.timers[effect.name] = effect.at_ms
            elif isinstance(effect, CancelTimer):
                self.timers.pop(effect.name, None)
        for kind, key, value in self.written:
            encoded = None if value is None else encode_versioned(kind.value, 0, value)
            self.log.append((encode_key(kind, key), encoded))
        if group is not None and group.is_written and not any(member.is_local for member in group.members.values()):
            assert self.read_back() == group


def partitions_of(answer: Row) -> dict[str, list[int]] | None:
    """The assignment in an answer, by topic; None if it has none."""
    if "assignment" not in answer:
        return None
    return {row["topicId"].rstrip(b".").decode(): row["partitions"] for row in answer["assignment"]["topicPartitions"]}
