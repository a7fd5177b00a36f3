"""Whatever members, topics and the network do: no partition has two owners, and in the end each has one."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from octavo.format.messages.schema import Row
from tests.coordinator.consumer.groups import GroupUnderTest, partitions_of, topics

SUBSCRIPTIONS = st.sampled_from([("t",), ("u",), ("t", "u")])
NUMBERS = st.integers(0, 4)
Owned = set[tuple[str, int]]


@dataclass
class Client:
    """A consumer: it gives up partitions as soon as an answer says so, but reports that only with a later heartbeat."""

    member_id: str
    topics: tuple[str, ...]
    is_local: bool
    instance_id: str | None
    epoch: int = 0
    has_missed: bool = False  # an answer: its next heartbeat is then complete, and so is the reply
    owned: Owned = field(default_factory=set)

    def hear(self, answer: Row) -> None:
        if answer.get("errorCode"):
            assert answer["errorCode"] in (25, 69, 110), answer
            self.epoch, self.owned = 0, set()
            return
        self.epoch = answer["memberEpoch"]
        assigned = partitions_of(answer)
        if assigned is not None:
            self.owned = {(name, number) for name, numbers in assigned.items() for number in numbers}


class Reconciliation(RuleBasedStateMachine):
    """Clients of one group, at most five, each either in the coordinator's process or not."""

    def __init__(self) -> None:
        super().__init__()
        self.group = GroupUnderTest(t=3, u=2)
        self.clients: dict[int, Client] = {}
        self.joined = 0

    def beat(self, client: Client, *, is_heard: bool = True) -> None:
        fields: Row = {"session_timeout_ms": 30_000} if client.is_local else {}
        if client.instance_id is not None:
            fields["instanceId"] = client.instance_id
        if client.epoch == 0:
            answer = self.group.join(client.member_id, *client.topics, **fields)
        else:
            owned: dict[str, list[int]] = {}
            for name, number in sorted(client.owned):
                owned.setdefault(name, []).append(number)
            if client.has_missed:
                fields.update(rebalanceTimeoutMs=60_000, subscribedTopicNames=list(client.topics))
            answer = self.group.beat(client.member_id, client.epoch, owned, **fields)
        client.has_missed = not is_heard
        if is_heard:
            client.hear(answer)

    @rule(number=NUMBERS, topics=SUBSCRIPTIONS, is_local=st.booleans(), is_static=st.booleans())
    def join(self, number: int, topics: tuple[str, ...], is_local: bool, is_static: bool) -> None:
        if number not in self.clients:
            self.joined += 1
            instance_id = f"i{self.joined}" if is_static and not is_local else None
            self.clients[number] = Client(f"m{self.joined:03d}", topics, is_local, instance_id)
            self.beat(self.clients[number])

    @rule(number=NUMBERS, is_heard=st.booleans())
    def heartbeat(self, number: int, is_heard: bool) -> None:
        client = self.clients.get(number)
        if client is not None:
            # If the answer to the join of a static member were lost, its next join would find its own place taken.
            self.beat(client, is_heard=is_heard or (client.epoch == 0 and client.instance_id is not None))

    @rule(number=NUMBERS, topics=SUBSCRIPTIONS)
    def subscribe(self, number: int, topics: tuple[str, ...]) -> None:
        client = self.clients.get(number)
        if client is not None and client.epoch > 0:
            client.topics = topics
            fields: Row = {"session_timeout_ms": 30_000} if client.is_local else {}
            fields["subscribedTopicNames"] = list(topics)
            answer = self.group.beat(client.member_id, client.epoch, **fields)
            if not client.has_missed:
                client.hear(answer)

    @rule(number=NUMBERS)
    def leave(self, number: int) -> None:
        client = self.clients.pop(number, None)
        if client is not None and client.epoch > 0:
            self.group.send(client.member_id, -1)

    @rule(number=NUMBERS)
    def restart(self, number: int) -> None:
        """A static member goes away, and its successor takes its place."""
        client = self.clients.get(number)
        if client is not None and client.instance_id is not None and client.epoch > 0:
            answer = self.group.send(client.member_id, -2, instanceId=client.instance_id)
            self.joined += 1
            self.clients[number] = Client(f"m{self.joined:03d}", client.topics, False, client.instance_id)
            assert answer.get("errorCode") in (None, 25, 69)
            self.beat(self.clients[number])

    @rule(by_ms=st.sampled_from([10, 1000, 31_000, 46_000]))
    def pass_time(self, by_ms: int) -> None:
        self.group.pass_time(by_ms)

    @rule(t=st.integers(0, 4), u=st.integers(0, 2))
    def change_topics(self, t: int, u: int) -> None:
        self.group.topics = topics(**{name: count for name, count in (("t", t), ("u", u)) if count})

    @precondition(lambda self: self.group.group is not None and not any(c.is_local for c in self.clients.values()))
    @rule()
    def read_records(self) -> None:
        """The coordinator starts again."""
        if self.group.group is not None and self.group.group.is_written:
            self.group.group = self.group.read_back()

    @invariant()
    def no_partition_has_two_owners(self) -> None:
        members = {} if self.group.group is None else self.group.group.members
        owned = [place for client in self.clients.values() if client.member_id in members for place in client.owned]
        assert len(owned) == len(set(owned))
        assigned = [place for member in members.values() for place in {**member.assigned, **member.revoking}]
        assert len(assigned) == len(set(assigned))

    def teardown(self) -> None:
        for _ in range(8):
            self.group.pass_time(5000)
            for client in self.clients.values():
                self.beat(client)
        if self.clients:
            assert self.group.described()["groupState"] == "Stable"
        owned = sorted(place for client in self.clients.values() for place in client.owned)
        wanted = {name for client in self.clients.values() for name in client.topics}
        existing = self.group.topics.by_name
        expected = [(name, number) for name in wanted & existing.keys() for number in existing[name].partitions]
        assert owned == sorted(expected)


TestReconciliation = Reconciliation.TestCase
TestReconciliation.settings = settings(max_examples=200, stateful_step_count=30, deadline=None)
