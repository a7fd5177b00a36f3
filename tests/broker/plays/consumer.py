"""Events of KIP-848 groups: three members, one of them static, and administrators."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from octavo.format.java.hash_map import in_map_order
from octavo.format.messages.partition_choice import java_hash
from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from tests.broker.plays import classic
from tests.broker.stage import Ask, Memory

MEMBERS = ("a", "b", "static")
ASSIGNORS = (None, None, "uniform", "range", "no such")
SUBSCRIPTIONS = (["six"], ["six"], ["t", "six"], ["t"], ["six", "nowhere"], ["nowhere"])
_JOIN, _LEAVE, _LEAVE_FOR_NOW = 0, -1, -2


def are_apart(group: str) -> bool:
    """Whether Java's maps keep the members in different buckets. In one bucket their order, and with it which
    partitions each gets, would depend on the history of other maps in Kafka's coordinator."""
    ids = [f"{group}-{actor}" for actor in MEMBERS]
    return in_map_order(ids, java_hash) == in_map_order(ids[::-1], java_hash)


def shown(memory: Memory, value: Any) -> Any:
    """An answer with names in place of ids."""
    if isinstance(value, dict):
        return {name: shown(memory, part) for name, part in value.items() if name not in classic.MASKED}
    if isinstance(value, list):
        return sorted((shown(memory, part) for part in value), key=repr)
    if isinstance(value, bytes) and len(value) == 16:
        return next((f"id of {name}" for name, known in memory["topics"].items() if known == value), "an id")
    if isinstance(value, str) and value.startswith(f"{memory['group']}-"):
        return f"member {value.removeprefix(memory['group'])}"
    return "the group" if value == memory["group"] else value


def learn_topics() -> Ask:
    """Ask for the ids of all topics."""

    def learn(memory: Memory, answer: Row) -> None:
        memory["topics"] = {row["name"]: row["topicId"] for row in answer["topics"]}
        answer.clear()

    return Ask(classic.ADMIN, apis.METADATA, 12, lambda memory: {"topics": None}, learn)


@st.composite
def heartbeats(draw: st.DrawFn) -> Ask:
    actor, version = draw(st.sampled_from(MEMBERS)), draw(st.integers(0, 1))
    kind = draw(
        st.sampled_from(["join", "join", "go on", "go on", "go on", "leave", "leave for now", "ahead", "behind"])
    )
    names, assignor = draw(st.sampled_from(SUBSCRIPTIONS)), draw(st.sampled_from(ASSIGNORS))
    owns_all = draw(st.booleans())

    def body(memory: Memory) -> Row:
        epoch = memory.get(f"{actor}.epoch", 0)
        row: Row = {"groupId": memory["group"], "memberId": f"{memory['group']}-{actor}"}
        if actor == "static":
            row["instanceId"] = "instance"
        if kind == "join" or (kind == "go on" and not epoch):
            return {
                **row, "memberEpoch": _JOIN, "rebalanceTimeoutMs": 60_000, "subscribedTopicNames": names,
                "serverAssignor": assignor, "topicPartitions": [],
            }  # fmt: skip
        if kind == "leave":
            return {**row, "memberEpoch": _LEAVE}
        if kind == "leave for now":
            return {**row, "memberEpoch": _LEAVE_FOR_NOW}
        shift = {"ahead": 1, "behind": -1}.get(kind, 0)
        owned = memory.get(f"{actor}.assigned", []) if owns_all else None
        return {**row, "memberEpoch": max(epoch + shift, 1), "topicPartitions": owned}

    def learn(memory: Memory, answer: Row) -> None:
        if not answer["errorCode"]:
            memory[f"{actor}.epoch"] = max(answer["memberEpoch"], 0)
            if answer["assignment"] is not None:
                memory[f"{actor}.assigned"] = answer["assignment"]["topicPartitions"]
            elif answer["memberEpoch"] <= 0:
                memory[f"{actor}.assigned"] = []

    return Ask(actor, apis.CONSUMER_GROUP_HEARTBEAT, version, body, learn)


@st.composite
def commits(draw: st.DrawFn) -> Ask:
    actor, version = draw(st.sampled_from((*MEMBERS, classic.ADMIN))), draw(st.integers(2, 9))
    shift, offset = draw(st.sampled_from([0, 0, 0, 1])), draw(st.integers(0, 9))

    def body(memory: Memory) -> Row:
        is_member = actor != classic.ADMIN
        row = {"partitionIndex": 0, "committedOffset": offset, "committedMetadata": ""}
        return {
            "groupId": memory["group"],
            "memberId": f"{memory['group']}-{actor}" if is_member else "",
            "generationIdOrMemberEpoch": memory.get(f"{actor}.epoch", 0) + shift if is_member else -1,
            "topics": [{"name": "t", "partitions": [row]}],
        }

    return Ask(actor, apis.OFFSET_COMMIT, version, body)


def events() -> SearchStrategy[Ask]:
    return st.one_of(heartbeats(), heartbeats(), heartbeats(), commits(), classic.fetches(), classic.looks())
