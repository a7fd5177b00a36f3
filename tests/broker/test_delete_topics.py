"""DeleteTopics when another request deletes one of the topics first."""

from __future__ import annotations

from collections.abc import Collection

import pytest

import octavo
from octavo.format.protocol.apis import DELETE_TOPICS
from octavo.format.protocol.error_codes import ErrorCode
from tests.broker.raw import RawClient


def test_a_topic_that_is_gone_does_not_keep_the_others_from_being_deleted(
    client: RawClient, logs: octavo.LogDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    for topic in "tuvw":
        logs.create_topic(topic, 2)
    delete = octavo.LogDir.delete_topics

    def after_another_request(logs: octavo.LogDir, topics: Collection[str]) -> None:
        if "u" in logs.topics:
            delete(logs, ["u"])
        delete(logs, topics)

    monkeypatch.setattr(octavo.LogDir, "delete_topics", after_another_request)
    answer = client.ask(DELETE_TOPICS, 6, {"topics": [{"name": name} for name in "tuv"], "timeoutMs": 5000})
    assert answer is not None
    codes = {row["name"]: row["errorCode"] for row in answer["responses"]}
    assert codes == {"t": 0, "u": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "v": 0}
    assert logs.topics == {"w": [0, 1]}
