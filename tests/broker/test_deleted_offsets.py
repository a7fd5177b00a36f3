"""Somebody deletes `__consumer_offsets`: what groups had committed is gone, and they can commit again."""

from __future__ import annotations

import octavo
from octavo.format.protocol.apis import DELETE_TOPICS, FIND_COORDINATOR, OFFSET_COMMIT, OFFSET_FETCH
from tests.broker.raw import RawClient


def test_groups_begin_again(client: RawClient, logs: octavo.LogDir) -> None:
    logs.create_topic("t", 1)
    commit(client, 5)
    assert committed(client) == 5
    answer = client.ask(DELETE_TOPICS, 4, {"topicNames": ["__consumer_offsets"], "timeoutMs": 10_000})
    assert answer is not None
    assert answer["responses"][0]["errorCode"] == 0
    assert committed(client) == -1
    commit(client, 7)
    assert committed(client) == 7


def commit(client: RawClient, offset: int) -> None:
    assert client.ask(FIND_COORDINATOR, 3, {"key": "g", "keyType": 0}) is not None
    topics = [{"name": "t", "partitions": [{"partitionIndex": 0, "committedOffset": offset}]}]
    body = {"groupId": "g", "generationIdOrMemberEpoch": -1, "memberId": "", "topics": topics}
    answer = client.ask(OFFSET_COMMIT, 8, body)
    assert answer is not None
    assert answer["topics"][0]["partitions"][0]["errorCode"] == 0


def committed(client: RawClient) -> int:
    answer = client.ask(OFFSET_FETCH, 7, {"groupId": "g", "topics": [{"name": "t", "partitionIndexes": [0]}]})
    assert answer is not None
    (row,) = answer["topics"][0]["partitions"]
    offset: int = row["committedOffset"]
    return offset
