"""Octavo's own file of topics: what is written is read back, what cannot be meant is refused."""

from __future__ import annotations

import json

import pytest

from octavo.errors import CorruptionError
from octavo.storage.topic_store import StoredTopic, decode, encode

TOPICS = {
    "a": StoredTopic(bytes(range(16)), {"retention.ms": "7", "flush.ms": None}, 3),
    "b": StoredTopic(bytes(16)),
}


def test_topics_are_read_back() -> None:
    assert decode(encode(TOPICS)) == TOPICS
    assert "partitions" not in json.loads(encode(TOPICS))["topics"]["b"]


@pytest.mark.parametrize("partitions", [0, -1, 1.5, True, "3", []])
def test_a_number_of_partitions_that_is_none(partitions: object) -> None:
    content = json.loads(encode(TOPICS))
    content["topics"]["a"]["partitions"] = partitions
    with pytest.raises(CorruptionError, match='topic a: expected a number of at least 1 under "partitions"'):
        decode(json.dumps(content).encode())
