"""A consumer group whose members have left, and a member that joins it with the classic protocol."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.coordinator.groups.classic.join import Caller
from octavo.coordinator.groups.consumer.request import Heartbeat
from octavo.coordinator.groups.coordinator import GroupCoordinator
from octavo.format.messages.schema import Row
from octavo.storage.log_manager import LogManager
from tests.coordinator.classic_group import subscription
from tests.coordinator.consumer.groups import UNCHANGED

JOIN: Row = {
    "groupId": "g",
    "memberId": "",
    "groupInstanceId": None,
    "sessionTimeoutMs": 10_000,
    "rebalanceTimeoutMs": 60_000,
    "protocolType": "consumer",
    "protocols": [{"name": "range", "metadata": subscription("t")}],
}
CONFIGS = {"offsets.topic.num.partitions": 1}


def beat(groups: GroupCoordinator, epoch: int, **fields: object) -> Row:
    answers: list[Row] = []
    body = {**UNCHANGED, "memberId": "m", "memberEpoch": epoch, **fields}
    groups.consumers.heartbeat(Heartbeat(body, 1, "client", "/host", answers.append), answers.append)
    return answers[0]


@pytest.mark.parametrize(("fields", "code"), [({"sessionTimeoutMs": 1}, 26), ({"memberId": "nobody"}, 25)])
def test_a_refused_join_does_not_remove_the_group(tmp_path: Path, fields: Row, code: int) -> None:
    with LogManager(tmp_path, configs=CONFIGS) as logs:
        logs.create_topic("t")
        groups, answers = GroupCoordinator(logs), list[Row]()
        beat(groups, 0, subscribedTopicNames=["t"], topicPartitions=[], rebalanceTimeoutMs=60_000)
        assert beat(groups, -1).get("errorCode", 0) == 0
        log = logs.log("__consumer_offsets", 0)
        before = log.log_end_offset
        groups.members.join({**JOIN, **fields}, Caller("client", "/host", 3), answers.append)
        assert answers[0]["errorCode"] == code
        assert log.log_end_offset == before


@pytest.mark.parametrize("timeout_ms", [5_999, 1_800_001])
def test_a_group_with_members_refuses_the_same_session_timeouts(tmp_path: Path, timeout_ms: int) -> None:
    with LogManager(tmp_path, configs=CONFIGS) as logs:
        logs.create_topic("t")
        groups, answers = GroupCoordinator(logs), list[Row]()
        beat(groups, 0, subscribedTopicNames=["t"], topicPartitions=[], rebalanceTimeoutMs=60_000)
        groups.members.join({**JOIN, "sessionTimeoutMs": timeout_ms}, Caller("client", "/host", 3), answers.append)
        assert answers[0]["errorCode"] == 26
        assert [member["memberId"] for member in groups.consumers.describe("g")["members"]] == ["m"]
