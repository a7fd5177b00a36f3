"""A consumer group goes on where it was when its directory passes from a real Kafka to ours and back."""

from __future__ import annotations

from pathlib import Path

import pytest

import octavo
from octavo.broker.broker import Broker
from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from tests.broker.raw import RawClient
from tests.broker.twin import wait_for_coordinators
from tests.interop.broker import Broker as KafkaBroker

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("broker")]

PROPERTIES = {"group.consumer.assignment.interval.ms": "0"}
TOPICS = {"t": 2, "u": 1}
BUSY = (14, 15, 16)  # error codes of a coordinator that is not ready yet


class Member:
    """Sends the heartbeats of one member, and keeps the epoch and the partitions of the last answer."""

    def __init__(self, member_id: str, *topics: str, regex: str | None = None) -> None:
        self.member_id = member_id
        self._topics = list(topics)
        self._regex = regex
        self.epoch = 0
        self.assigned: dict[bytes, list[int]] = {}

    def beat(self, client: RawClient) -> Member:
        """Send a full heartbeat, with the subscription and the partitions, so that the answer has the assignment."""
        rows = [{"topicId": topic_id, "partitions": numbers} for topic_id, numbers in self.assigned.items()]
        body = {
            "groupId": "g",
            "memberId": self.member_id,
            "memberEpoch": self.epoch,
            "rebalanceTimeoutMs": 60_000,
            "subscribedTopicNames": None if self._regex else self._topics,
            "subscribedTopicRegex": self._regex,
            "topicPartitions": rows if self.epoch else [],
        }
        answer = asked(client, apis.CONSUMER_GROUP_HEARTBEAT, 1, body)
        assert not answer["errorCode"], answer
        self.epoch = answer["memberEpoch"]
        self.assigned = {row["topicId"]: row["partitions"] for row in answer["assignment"]["topicPartitions"]}
        return self

    @property
    def count(self) -> int:
        return sum(map(len, self.assigned.values()))


def asked(client: RawClient, api: apis.Api, version: int, body: Row) -> Row:
    """The answer, once the coordinator is ready."""
    return client.ask_until(
        api, version, body, lambda answer: (answer.get("groups") or [answer])[0]["errorCode"] not in BUSY
    )


def described(client: RawClient) -> Row:
    row = asked(client, apis.CONSUMER_GROUP_DESCRIBE, 1, {"groupIds": ["g"], "includeAuthorizedOperations": False})
    group: Row = row["groups"][0]
    group["members"].sort(key=lambda member: str(member["memberId"]))
    for member in group["members"]:
        for assignment in (member["assignment"], member["targetAssignment"]):
            assignment["topicPartitions"].sort(key=lambda topic: str(topic["topicName"]))
    return group


def test_there_and_back(tmp_path: Path) -> None:
    kafka = KafkaBroker(tmp_path, PROPERTIES)
    one, two, three = Member("m1", "t"), Member("m2", "t"), Member("m3", regex="[u]")
    try:
        kafka.start()
        with RawClient(("localhost", kafka.port)) as client:
            rows = [{"name": name, "numPartitions": count, "replicationFactor": 1} for name, count in TOPICS.items()]
            client.ask(apis.CREATE_TOPICS, 4, {"topics": rows, "timeoutMs": 10_000})
            wait_for_coordinators(client)
            assert one.beat(client).count == 2
            before = described(client)
        kafka.stop()
        with (
            octavo.LogDir(kafka.log_dir, configs=PROPERTIES) as logs,
            Broker(logs) as ours,
            RawClient(ours.address) as client,
        ):
            assert described(client) == before
            assert one.beat(client).epoch == 2 == described(client)["groupEpoch"]  # the topics have the same hash
            two.beat(client)
            one.beat(client).beat(client)
            assert (two.beat(client).epoch, two.count, one.count) == (3, 1, 1)
            three.beat(client)
            assert three.beat(client).count == 1
            for member in (one, two):
                member.beat(client)
            after = described(client)
            assert after["groupState"] == "Stable" and len(after["members"]) == 3
        kafka.start()
        with RawClient(("localhost", kafka.port)) as client:
            assert described(client) == after
            for member in (one, two, three):
                epoch = member.epoch
                assert (member.beat(client).epoch, member.count) == (epoch, 1)
            body = {"groupId": "g", "memberId": "m1", "memberEpoch": -1}
            assert not asked(client, apis.CONSUMER_GROUP_HEARTBEAT, 1, body)["errorCode"]
            assert two.beat(client).count == 2
        kafka.stop()
    finally:
        kafka.kill()
