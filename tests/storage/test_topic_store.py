"""Octavo's own file of topics: what is written is read back, and nonsense is refused."""

from __future__ import annotations

import json

import pytest

from octavo.errors import CorruptionError
from octavo.storage.topics.topic_store import Change, PendingChange, StoredTopic, decode, encode

TOPICS = {
    "a": StoredTopic(bytes(range(16)), {"retention.ms": "7", "flush.ms": None}, 3),
    "b": StoredTopic(bytes(16)),
    "c": StoredTopic(bytes(16), pending=PendingChange(Change.CREATE, (0, 2), (bytes(range(16)), None))),
    "d": StoredTopic(bytes(16), pending=PendingChange(Change.DELETE, (), ())),
}


def test_topics_are_read_back() -> None:
    assert decode(encode(TOPICS)) == TOPICS
    assert "pending" not in json.loads(encode(TOPICS))["topics"]["a"]
    assert "partitions" not in json.loads(encode(TOPICS))["topics"]["b"]


@pytest.mark.parametrize("partitions", [0, -1, 1.5, True, "3", [], 1 << 31])
def test_a_bad_number_of_partitions_is_refused(partitions: object) -> None:
    content = json.loads(encode(TOPICS))
    content["topics"]["a"]["partitions"] = partitions
    with pytest.raises(CorruptionError, match='topic a: expected a number of at least 1 under "partitions"'):
        decode(json.dumps(content).encode())


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("pending", "grow", 'expected "create" or "delete" under "pending"'),
        ("pending", ["create"], 'expected "create" or "delete" under "pending"'),
        ("pendingPartitions", [0, -1], 'expected a list of partitions under "pendingPartitions"'),
        ("pendingPartitions", [1 << 31], 'expected a list of partitions under "pendingPartitions"'),
        ("pendingPartitions", {"0": 1}, 'expected a list of partitions under "pendingPartitions"'),
        ("pendingDirectories", [7], 'expected a list of directory ids under "pendingDirectories"'),
        ("pendingDirectories", ["seven"], "expected a uuid of 22 base64url characters"),
    ],
)
def test_a_malformed_pending_change_is_refused(field: str, value: object, problem: str) -> None:
    content = json.loads(encode(TOPICS))
    content["topics"]["c"][field] = value
    with pytest.raises(CorruptionError, match=problem):
        decode(json.dumps(content).encode())


def test_a_topic_that_no_directory_can_have_is_refused() -> None:
    content = json.loads(encode(TOPICS))
    content["topics"]["../../x"] = content["topics"]["a"]
    with pytest.raises(CorruptionError, match="topic name is invalid"):
        decode(json.dumps(content).encode())


@pytest.mark.parametrize("data", [b"", b"\xff", b"[1]", b"[" * 100_000, b'{"version": ' + b"9" * 5000 + b"}"])
def test_what_is_not_a_json_object_is_refused(data: bytes) -> None:
    with pytest.raises(CorruptionError, match="expected a JSON object"):
        decode(data)
