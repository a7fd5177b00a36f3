"""The same requests about groups to a real Kafka 4.3.1 and to ours: the same answers, except for ids and times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from tests.broker.group_requests import RANGE, SUBSCRIPTION, beating, committing, joining, leaving, syncing
from tests.broker.raw import RawClient
from tests.broker.twin import NO_ID, Twin

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("broker")]

ROUND_ROBIN = {"name": "roundrobin", "metadata": SUBSCRIPTION}


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    with Twin.started(tmp_path_factory.mktemp("twin"), {"t": 2, "u": 1}, {"group.max.size": "2"}) as both:
        both.wait_for_coordinators()
        yield both


def joined(twin: Twin, group: str, version: int, name: str, **fields: Any) -> None:
    """Join a group as its first member, whose id is then known as `id of <name>`."""
    if version >= 4 and "groupInstanceId" not in fields:
        twin.ask(apis.JOIN_GROUP, version, joining(group, **fields))
        twin.learn(name, "memberId")
        twin.ask(apis.JOIN_GROUP, version, joining(group, f"id of {name}", **fields))
    else:
        twin.ask(apis.JOIN_GROUP, version, joining(group, **fields))
        twin.learn(name, "memberId")


def stable(twin: Twin, group: str, name: str, **fields: Any) -> None:
    """Make a group with one member that has its assignment."""
    joined(twin, group, 9, name, **fields)
    twin.ask(apis.SYNC_GROUP, 5, syncing(group, f"id of {name}", 1, f"id of {name}"))


@pytest.mark.parametrize("version", list(apis.FIND_COORDINATOR.versions))
def test_find_coordinator(twin: Twin, version: int) -> None:
    for kind in (0, 1, 2, 9) if version else (0,):
        for key in ("g", ""):
            named = {"key": key} if version < 4 else {"coordinatorKeys": [key, "another"]}
            if kind != 2 or version < 6:  # share groups have no coordinator here
                twin.ask(apis.FIND_COORDINATOR, version, {**named, "keyType": kind})


@pytest.mark.parametrize("version", list(apis.JOIN_GROUP.versions))
def test_joins_that_are_refused(twin: Twin, version: int) -> None:
    group = f"refused{version}"
    twin.ask(apis.JOIN_GROUP, version, joining(""))
    twin.ask(apis.JOIN_GROUP, version, joining(group, sessionTimeoutMs=100))
    twin.ask(apis.JOIN_GROUP, version, joining(group, sessionTimeoutMs=10**7))
    twin.ask(apis.JOIN_GROUP, version, joining(group, "nobody"))
    describe(twin, group)
    twin.ask(apis.JOIN_GROUP, version, joining(group, protocols=[]))
    describe(twin, group)
    twin.ask(apis.JOIN_GROUP, version, joining(group, protocolType=""))
    if version >= 5:
        twin.ask(apis.JOIN_GROUP, version, joining(group, "nobody", groupInstanceId="i"))
    stable(twin, group, "m")
    twin.ask(apis.JOIN_GROUP, version, joining(group, protocolType="other"))
    twin.ask(apis.JOIN_GROUP, version, joining(group, protocols=[ROUND_ROBIN]))
    twin.ask(apis.JOIN_GROUP, version, joining(group, "nobody"))


@pytest.mark.parametrize("version", list(apis.JOIN_GROUP.versions))
def test_the_life_of_a_member(twin: Twin, version: int) -> None:
    group, me = f"life{version}", "id of m"
    joined(twin, group, version, "m")
    describe(twin, group)
    commit = committing(group, {"name": "t"}, {}, member=me, generation=1)
    twin.ask(apis.OFFSET_COMMIT, 9, commit)  # the rebalance is not over
    twin.ask(apis.JOIN_GROUP, version, joining(group, me))  # nothing has changed
    twin.ask(apis.HEARTBEAT, 4, beating(group, me))
    twin.ask(apis.SYNC_GROUP, 5, syncing(group, me, 1, me))
    describe(twin, group)
    twin.ask(apis.SYNC_GROUP, 5, syncing(group, me))
    twin.ask(apis.OFFSET_COMMIT, 9, commit)
    twin.ask(apis.JOIN_GROUP, version, joining(group, me))  # the leader may begin a rebalance
    twin.ask(apis.JOIN_GROUP, version, joining(group, me, protocols=[RANGE, ROUND_ROBIN]))
    twin.ask(apis.HEARTBEAT, 4, beating(group, me))
    twin.ask(apis.SYNC_GROUP, 5, syncing(group, me, 3, me))
    twin.ask(apis.DELETE_GROUPS, 2, {"groupsNames": [group]})
    twin.ask(apis.LEAVE_GROUP, 5, leaving(group, 5, {"memberId": me}))
    describe(twin, group)
    twin.ask(apis.HEARTBEAT, 4, beating(group, me, 3))
    twin.ask(apis.JOIN_GROUP, version, joining(group, me))
    twin.ask(apis.DELETE_GROUPS, 2, {"groupsNames": [group]})
    describe(twin, group)


def describe(twin: Twin, group: str) -> None:
    for version in apis.DESCRIBE_GROUPS.versions:
        twin.eventually(apis.DESCRIBE_GROUPS, version, {"groups": [group]})


@pytest.mark.parametrize("version", list(apis.SYNC_GROUP.versions))
def test_sync_group(twin: Twin, version: int) -> None:
    group, me = f"sync{version}", "id of m"
    twin.ask(apis.SYNC_GROUP, version, syncing(group, "nobody"))
    twin.ask(apis.SYNC_GROUP, version, syncing("", "nobody"))
    joined(twin, group, 9, "m")
    twin.ask(apis.SYNC_GROUP, version, syncing(group, "nobody"))
    twin.ask(apis.SYNC_GROUP, version, syncing(group, me, 7))
    if version >= 3:
        twin.ask(apis.SYNC_GROUP, version, syncing(group, me, groupInstanceId="i"))
    if version >= 5:
        twin.ask(apis.SYNC_GROUP, version, syncing(group, me, protocolType="other"))
        twin.ask(apis.SYNC_GROUP, version, syncing(group, me, protocolName="other"))
        twin.ask(apis.SYNC_GROUP, version, syncing(group, me, protocolName=None))
    twin.ask(apis.SYNC_GROUP, version, syncing(group, me))  # an assignment that forgets its member


@pytest.mark.parametrize("version", list(apis.HEARTBEAT.versions))
def test_heartbeat(twin: Twin, version: int) -> None:
    group, me = f"beat{version}", "id of m"
    twin.ask(apis.HEARTBEAT, version, beating(group, "nobody"))
    twin.ask(apis.HEARTBEAT, version, beating("", "nobody"))
    stable(twin, group, "m")
    for member, generation in ((me, 1), (me, 2), (me, -1), ("nobody", 1), ("", 1)):
        twin.ask(apis.HEARTBEAT, version, beating(group, member, generation))
    if version >= 3:
        twin.ask(apis.HEARTBEAT, version, beating(group, me, groupInstanceId="i"))


@pytest.mark.parametrize("version", list(apis.LEAVE_GROUP.versions))
def test_leave_group(twin: Twin, version: int) -> None:
    group = f"leave{version}"
    twin.ask(apis.LEAVE_GROUP, version, leaving(group, version, {"memberId": "nobody"}))
    twin.ask(apis.LEAVE_GROUP, version, leaving("", version, {"memberId": "nobody"}))
    stable(twin, group, "m")
    twin.ask(apis.LEAVE_GROUP, version, leaving(group, version, {"memberId": "nobody"}))
    if version >= 3:
        twin.ask(apis.LEAVE_GROUP, version, leaving(group, version))
        rows = [{"memberId": "", "groupInstanceId": "i"}, {"memberId": "id of m", "groupInstanceId": "i"}]
        twin.ask(apis.LEAVE_GROUP, version, leaving(group, version, *rows))
    twin.ask(apis.JOIN_GROUP, 5, joining(group))
    twin.learn("pending", "memberId")
    twin.ask(apis.LEAVE_GROUP, version, leaving(group, version, {"memberId": "id of pending"}))
    twin.ask(apis.LEAVE_GROUP, version, leaving(group, version, {"memberId": "id of m"}))
    describe(twin, group)


@pytest.mark.parametrize("version", [0, 3, 5, 9])
def test_two_members(twin: Twin, version: int) -> None:
    """The second member makes the first one join again; only the leader gets the list of members."""
    group, one, two = f"two{version}", "id of one", "id of two"
    stable(twin, group, "one")
    with twin.connect() as second, twin.connect() as first:
        if version >= 4:
            twin.ask(apis.JOIN_GROUP, version, joining(group))
            twin.learn("two", "memberId")
        second.send(apis.JOIN_GROUP, version, joining(group, two if version >= 4 else ""))
        twin.eventually(apis.HEARTBEAT, 4, beating(group, one), code=27)
        describe(twin, group)
        twin.ask(apis.SYNC_GROUP, 5, syncing(group, one))
        twin.ask(apis.OFFSET_COMMIT, 9, committing(group, {"name": "t"}, {}, member=one, generation=1))
        if version >= 4:
            twin.ask(apis.JOIN_GROUP, version, joining(group))
            twin.learn("three", "memberId")
            twin.ask(apis.LEAVE_GROUP, 5, leaving(group, 5, {"memberId": "id of three"}))
        first.send(apis.JOIN_GROUP, version, joining(group, one))
        second.answer()
        twin.learn("two", "memberId")
        first.answer()
        twin.ask(apis.JOIN_GROUP, version, joining(group))  # there is no room for a third one
        twin.ask(apis.JOIN_GROUP, version, joining(group, two))
        second.send(apis.SYNC_GROUP, 5, syncing(group, two, 2))
        first.send(apis.SYNC_GROUP, 5, syncing(group, one, 2, one, two))
        first.answer()
        second.answer()
        describe(twin, group)
        twin.ask(apis.JOIN_GROUP, version, joining(group, two))  # a follower without news
        twin.ask(apis.LEAVE_GROUP, 5, leaving(group, 5, {"memberId": one}))
        twin.ask(apis.HEARTBEAT, 4, beating(group, two, 2))
        twin.ask(apis.JOIN_GROUP, version, joining(group, two))
        describe(twin, group)


@pytest.mark.parametrize("version", [5, 8, 9])
def test_static_members(twin: Twin, version: int) -> None:
    group, me, old = f"static{version}", "id of m", "id of old"
    stable(twin, group, "old", groupInstanceId="i")
    twin.ask(apis.JOIN_GROUP, version, joining(group, groupInstanceId="i"))  # the same one, restarted
    twin.learn("m", "memberId")
    twin.ask(apis.HEARTBEAT, 4, beating(group, old, groupInstanceId="i"))
    twin.ask(apis.HEARTBEAT, 4, beating(group, old))
    twin.ask(apis.HEARTBEAT, 4, beating(group, me, groupInstanceId="i"))
    twin.ask(apis.SYNC_GROUP, 5, syncing(group, old, groupInstanceId="i"))
    twin.ask(apis.SYNC_GROUP, 5, syncing(group, me, groupInstanceId="i"))
    twin.ask(apis.JOIN_GROUP, version, joining(group, old, groupInstanceId="i"))
    commit = committing(group, {"name": "t"}, {}, member=old, generation=1, groupInstanceId="i")
    twin.ask(apis.OFFSET_COMMIT, 9, commit)
    describe(twin, group)
    twin.ask(apis.JOIN_GROUP, version, joining(group, groupInstanceId="i", protocols=[ROUND_ROBIN]))
    twin.learn("m", "memberId")
    describe(twin, group)
    twin.ask(apis.JOIN_GROUP, version, joining(group, groupInstanceId="i", protocols=[ROUND_ROBIN]))
    twin.learn("m", "memberId")
    twin.ask(apis.LEAVE_GROUP, 5, leaving(group, 5, {"memberId": "", "groupInstanceId": "i"}))
    describe(twin, group)


@pytest.mark.parametrize("version", list(apis.OFFSET_COMMIT.versions))
def test_offset_commit(twin: Twin, version: int) -> None:
    group, topic = f"commit{version}", {"name": "t"} if version < 10 else {"topicId": "id of t"}

    def ask(named: Row, *offsets: Row, **fields: Any) -> None:
        twin.ask(apis.OFFSET_COMMIT, version, committing(group, named, *offsets, **fields))

    ask(topic, {}, generation=3, member="nobody")
    ask({"name": "nowhere"} if version < 10 else {"topicId": NO_ID}, {})
    ask(topic, {}, {"partitionIndex": 1, "committedOffset": 7, "committedMetadata": "note"}, {"partitionIndex": 9})
    ask(topic, {"committedMetadata": "x" * 4097}, {"partitionIndex": 1, "committedMetadata": None})
    ask(topic, member="nobody")
    ask(topic, {}, member="nobody")
    twin.ask(apis.OFFSET_COMMIT, version, committing("", topic, {}))
    twin.ask(apis.OFFSET_COMMIT, version, {**committing(group, topic), "topics": []})
    if version < 5:
        ask(topic, {"committedOffset": 11}, retentionTimeMs=3_600_000)
    stable(twin, group, "m")
    for member, generation in (("", -1), ("nobody", 1), ("id of m", 2), ("id of m", 1), ("id of m", -1), ("", 1)):
        ask(topic, {"committedOffset": 9}, member=member, generation=generation)
    twin.ask(apis.OFFSET_FETCH, 7, {"groupId": group, "topics": None})


@pytest.mark.parametrize("version", list(apis.OFFSET_FETCH.versions))
def test_offset_fetch(twin: Twin, version: int) -> None:
    group = f"fetch{version}"
    topic = {"topicId": "id of t"} if version == 10 else {"name": "t"}
    unknown = {"topicId": NO_ID} if version == 10 else {"name": "nowhere"}

    def ask(group_id: str, *topics: Row, **fields: Any) -> None:
        body: Row = {"groupId": group_id, "topics": list(topics)}
        for rows in (list(topics), None):
            if rows is None and version < 2:
                continue
            if version < 8:
                body["topics"] = rows
            else:
                body = {"groups": [{"groupId": group_id, "topics": rows, **fields}]}
            for is_stable in (False, True) if version >= 7 else (False,):
                twin.ask(apis.OFFSET_FETCH, version, {**body, "requireStable": is_stable})

    def rows(*partitions: int) -> Row:
        return {"partitionIndexes": list(partitions)}

    ask(group, {**topic, **rows(0, 9)}, {**unknown, **rows(0)})
    offsets = {"committedLeaderEpoch": 0}, {"partitionIndex": 1, "committedOffset": 7, "committedMetadata": "note"}
    twin.ask(apis.OFFSET_COMMIT, 9, committing(group, {"name": "t"}, *offsets))
    twin.ask(apis.OFFSET_COMMIT, 10, committing(group, {"topicId": "id of u"}, {}))
    ask(group, {**topic, **rows(0, 1, 9)}, {**unknown, **rows(0)})
    ask("", {**topic, **rows(0)})
    if version >= 8:
        groups = [{"groupId": name, "topics": [{**topic, **rows(0)}]} for name in (group, "nobody")]
        twin.ask(apis.OFFSET_FETCH, version, {"groups": groups})
        twin.ask(apis.OFFSET_FETCH, version, {"groups": []})
    if version >= 9:
        ask(group, {**topic, **rows(0)}, memberId="nobody", memberEpoch=3)


def test_offset_delete(twin: Twin) -> None:
    def ask(group: str, *topics: str) -> None:
        rows = [{"name": topic, "partitions": [{"partitionIndex": number} for number in (0, 9)]} for topic in topics]
        twin.ask(apis.OFFSET_DELETE, 0, {"groupId": group, "topics": rows})
        twin.ask(apis.OFFSET_FETCH, 7, {"groupId": group, "topics": None})

    ask("", "t")
    ask("absent", "t")
    for topic in ("t", "u"):
        twin.ask(apis.OFFSET_COMMIT, 9, committing("deletes", {"name": topic}, {}, {"partitionIndex": 1}))
    ask("deletes", "t", "nowhere")
    ask("deletes")
    stable(twin, "deletes", "m")
    ask("deletes", "t", "u")
    stable(twin, "connectors", "m", protocolType="connect")
    ask("connectors", "t")
    ask("connectors")


@pytest.mark.parametrize("version", list(apis.DELETE_GROUPS.versions))
def test_delete_groups(twin: Twin, version: int) -> None:
    gone, busy = f"gone{version}", f"busy{version}"
    twin.ask(apis.OFFSET_COMMIT, 9, committing(gone, {"name": "t"}, {}))
    stable(twin, busy, "m")
    twin.ask(apis.DELETE_GROUPS, version, {"groupsNames": [gone, busy, "absent", gone]})
    twin.ask(apis.DELETE_GROUPS, version, {"groupsNames": []})
    twin.ask(apis.OFFSET_FETCH, 7, {"groupId": gone, "topics": None})
    describe(twin, gone)


@pytest.mark.parametrize("version", list(apis.LIST_GROUPS.versions))
def test_list_groups(twin: Twin, version: int) -> None:
    twin.ask(apis.OFFSET_COMMIT, 9, committing("simple", {"name": "t"}, {}))
    twin.ask(apis.LIST_GROUPS, version, {})
    if version >= 4:
        for states in (["Stable"], ["STABLE", " empty"], ["nonsense"]):
            twin.ask(apis.LIST_GROUPS, version, {"statesFilter": states})
    if version >= 5:
        for types in (["Classic"], ["consumer"], ["nonsense"], ["classic", "consumer"]):
            twin.ask(apis.LIST_GROUPS, version, {"typesFilter": types})


@pytest.mark.parametrize("version", list(apis.DESCRIBE_GROUPS.versions))
def test_describe_groups(twin: Twin, version: int) -> None:
    stable(twin, f"described{version}", "m")
    for groups in ([f"described{version}", "absent"], [], [""]):
        for wanted in (False, True) if version >= 3 else (False,):
            twin.ask(apis.DESCRIBE_GROUPS, version, {"groups": groups, "includeAuthorizedOperations": wanted})


def test_offsets_of_a_deleted_topic_are_deleted(twin: Twin) -> None:
    wanted = {"name": "short", "numPartitions": 1, "replicationFactor": 1}
    twin.ask(apis.CREATE_TOPICS, 4, {"topics": [wanted], "timeoutMs": 10_000})
    twin.learn_ids(["short"])
    twin.ask(apis.OFFSET_COMMIT, 9, committing("reader", {"name": "short"}, {}))
    twin.ask(apis.DELETE_TOPICS, 5, {"topicNames": ["short"], "timeoutMs": 10_000})
    fetch = {"groupId": "reader", "topics": [{"name": "short", "partitionIndexes": [0]}]}
    with RawClient(twin.real) as client:
        client.ask_until(apis.OFFSET_FETCH, 7, fetch, lambda answer: _first_offset(answer) == -1)
    twin.eventually(apis.OFFSET_FETCH, 7, fetch)


def _first_offset(answer: Row) -> int:
    offset: int = answer["topics"][0]["partitions"][0]["committedOffset"]
    return offset
