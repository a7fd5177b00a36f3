"""Events of classic groups: three members, one of them static, and administrators."""

from __future__ import annotations

from functools import partial
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from octavo.format.protocol.apis import Api
from tests.broker.stage import Ask, Memory

MEMBERS = ("a", "b", "static")
ADMIN = "admin"
PROTOCOLS = (("range",), ("range", "roundrobin"), ("roundrobin",))
MASKED = {"throttleTimeMs", "errorMessage", "clientHost"}


def shown(memory: Memory, value: Any) -> Any:
    """An answer with names in place of member ids; lists are sorted, since their order may differ."""
    if isinstance(value, dict):
        return {name: shown(memory, part) for name, part in value.items() if name not in MASKED}
    if isinstance(value, list):
        parts = [shown(memory, part) for part in value]
        return sorted(parts, key=repr)
    if isinstance(value, str) and value:
        for name in MEMBERS:
            if value == memory.get(f"{name}.id"):
                return f"member {name}"
        return "the group" if value == memory["group"] else value
    return bytes(value) if isinstance(value, memoryview) else value


def _versions(api: Api) -> SearchStrategy[int]:
    return st.sampled_from(list(api.versions))


def _instance(actor: str, version: int, from_version: int) -> Row:
    return {"groupInstanceId": "instance"} if actor == "static" and version >= from_version else {}


@st.composite
def joins(draw: st.DrawFn) -> Ask:
    actor, version, protocols = (
        draw(st.sampled_from(MEMBERS)),
        draw(_versions(apis.JOIN_GROUP)),
        draw(st.sampled_from(PROTOCOLS)),
    )
    timeout = draw(st.sampled_from([30_000, 30_000, 30_000, 10]))

    def body(memory: Memory) -> Row:
        return {
            "groupId": memory["group"], "sessionTimeoutMs": timeout, "memberId": memory.get(f"{actor}.id", ""),
            "protocolType": "consumer", "protocols": [{"name": name, "metadata": b""} for name in protocols],
            **({"rebalanceTimeoutMs": 60_000} if version >= 1 else {}), **_instance(actor, version, 5),
        }  # fmt: skip

    def learn(memory: Memory, answer: Row) -> None:
        if answer["memberId"]:
            memory[f"{actor}.id"] = answer["memberId"]
        if not answer["errorCode"]:
            memory[f"{actor}.generation"] = answer["generationId"]
            memory[f"{actor}.members"] = [row["memberId"] for row in answer["members"]]

    return Ask(actor, apis.JOIN_GROUP, version, body, learn, may_wait=True)


def _identity(actor: str, version: int, instance_from: int, shift: int, memory: Memory) -> Row:
    return {
        "groupId": memory["group"], "generationId": memory.get(f"{actor}.generation", -1) + shift,
        "memberId": memory.get(f"{actor}.id", ""), **_instance(actor, version, instance_from),
    }  # fmt: skip


@st.composite
def syncs(draw: st.DrawFn) -> Ask:
    actor, version = draw(st.sampled_from(MEMBERS)), draw(_versions(apis.SYNC_GROUP))
    shift = draw(st.sampled_from([0, 0, 0, 0, 1]))

    def body(memory: Memory) -> Row:
        assigned = [{"memberId": member, "assignment": b"x"} for member in memory.get(f"{actor}.members", ())]
        return {**_identity(actor, version, 3, shift, memory), "assignments": assigned}

    return Ask(actor, apis.SYNC_GROUP, version, body, may_wait=True)


@st.composite
def heartbeats(draw: st.DrawFn) -> Ask:
    actor, version = draw(st.sampled_from(MEMBERS)), draw(_versions(apis.HEARTBEAT))
    shift = draw(st.sampled_from([0, 0, 0, 1, -1]))
    return Ask(actor, apis.HEARTBEAT, version, partial(_identity, actor, version, 3, shift))


@st.composite
def leaves(draw: st.DrawFn) -> Ask:
    actor, version = draw(st.sampled_from(MEMBERS)), draw(_versions(apis.LEAVE_GROUP))

    def body(memory: Memory) -> Row:
        member = {"memberId": memory.get(f"{actor}.id", "")}
        if version < 3:
            return {"groupId": memory["group"], **member}
        return {"groupId": memory["group"], "members": [{**member, **_instance(actor, version, 3)}]}

    return Ask(actor, apis.LEAVE_GROUP, version, body)


@st.composite
def commits(draw: st.DrawFn) -> Ask:
    actor, version = draw(st.sampled_from((*MEMBERS, ADMIN))), draw(st.integers(2, 9))
    shift, offset = draw(st.sampled_from([0, 0, 0, 1])), draw(st.integers(0, 9))
    partition = draw(st.sampled_from([0, 1, 99]))

    def body(memory: Memory) -> Row:
        identity = _identity(actor, version, 7, 0 if actor == ADMIN else shift, memory)
        identity["generationIdOrMemberEpoch"] = identity.pop("generationId")
        row = {"partitionIndex": partition, "committedOffset": offset, "committedMetadata": "m"}
        return {**identity, "topics": [{"name": "t", "partitions": [row]}]}

    return Ask(actor, apis.OFFSET_COMMIT, version, body)


@st.composite
def fetches(draw: st.DrawFn) -> Ask:
    version = draw(st.integers(1, 9))
    wanted = draw(st.sampled_from([[{"name": "t", "partitionIndexes": [0, 1, 99]}], None]))
    topics = wanted if version >= 2 else [{"name": "t", "partitionIndexes": [0]}]

    def body(memory: Memory) -> Row:
        if version >= 8:
            return {"groups": [{"groupId": memory["group"], "topics": topics}]}
        return {"groupId": memory["group"], "topics": topics}

    return Ask(ADMIN, apis.OFFSET_FETCH, version, body)


@st.composite
def looks(draw: st.DrawFn) -> Ask:
    api = draw(
        st.sampled_from([apis.DESCRIBE_GROUPS, apis.DELETE_GROUPS, apis.OFFSET_DELETE, apis.CONSUMER_GROUP_DESCRIBE])
    )
    version = draw(_versions(api))

    def body(memory: Memory) -> Row:
        group = memory["group"]
        if api is apis.OFFSET_DELETE:
            return {"groupId": group, "topics": [{"name": "t", "partitions": [{"partitionIndex": 0}]}]}
        if api is apis.CONSUMER_GROUP_DESCRIBE:
            return {"groupIds": [group]}
        return {"groupsNames" if api is apis.DELETE_GROUPS else "groups": [group]}

    return Ask(ADMIN, api, version, body)


def events() -> SearchStrategy[Ask]:
    return st.one_of(joins(), joins(), syncs(), syncs(), heartbeats(), leaves(), commits(), fetches(), looks())
