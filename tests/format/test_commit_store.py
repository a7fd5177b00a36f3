"""The file of commits: round trip, what it answers, and what cannot be understood."""

from __future__ import annotations

import json

import pytest

from octavo.errors import CorruptionError
from octavo.format.names import StagedFile, TopicPartition
from octavo.format.small_files.commit_store import (
    CommitStore,
    PendingCommit,
    PendingFile,
    PendingPart,
    PendingTopic,
    decode,
    encode,
)

FILES = [StagedFile("0123456789abcdef", "0" * 32, number).name for number in range(2)]
PARTS = (
    PendingPart("t", 0, 5, (PendingFile(FILES[0], 10, 3), PendingFile(FILES[1], 20, 4))),
    PendingPart("u", 1, 0, ()),
)
TOPICS = (PendingTopic("u", bytes(range(16)), (0, 1), {"segment.bytes": "1048576"}), PendingTopic("v", bytes(16), (0,)))
STORE = CommitStore({"query": 3}, PendingCommit("query", 4, PARTS, TOPICS), 7)


@pytest.mark.parametrize("store", [STORE, CommitStore(), CommitStore(pending=PendingCommit("once", None, PARTS))])
def test_round_trip(store: CommitStore) -> None:
    assert decode(encode(store)) == store


def test_the_store_knows_what_is_done_and_where_the_pending_commit_begins() -> None:
    assert [STORE.has_done("query", batch_id) for batch_id in (0, 3, 4, None)] == [True, True, False, False]
    assert not STORE.has_done("other", 0)
    assert STORE.start_offsets() == {TopicPartition("t", 0): 5, TopicPartition("u", 1): 0}
    assert PARTS[0].end_offset == 12


@pytest.mark.parametrize(
    "change",
    [{"version": 1}, {"done": []}, {"done": {"q": -1}}, {"done": {"q": True}}, {"sweptMs": None}, {"pending": 5},
     {"pending": {"writer": "q", "batchId": 1, "parts": [], "topics": [{"topic": "t", "topicId": "x"}]}},
     {"pending": {"writer": 1, "batchId": 1, "parts": []}}, {"pending": {"writer": "q", "parts": [{"topic": "t"}]}}],
)  # fmt: skip
def test_what_cannot_be_understood_is_an_error(change: dict[str, object]) -> None:
    content = {**json.loads(encode(CommitStore())), **change}
    with pytest.raises(CorruptionError, match="expected"):
        decode(json.dumps(content).encode())


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"topic": "../../x"}, "topic name is invalid"),
        ({"partition": 1 << 31}, "expected a number from 0 to 2147483647"),
        ({"startOffset": -1}, "expected a number from 0 to 9223372036854775807"),
        ({"startOffset": 10**4000}, "expected a number from 0 to 9223372036854775807"),
        ({"files": [{"name": "../../precious", "size": 1, "records": 1}]}, "expected the name of a staged file"),
    ],
)
def test_a_pending_commit_leads_nowhere_else(change: dict[str, object], problem: str) -> None:
    content = json.loads(encode(STORE))
    content["pending"]["parts"][0] |= change
    with pytest.raises(CorruptionError, match=problem):
        decode(json.dumps(content).encode())


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"partition": None}, "^partition: expected a number, found nothing$"),
        ({"startOffset": "5"}, "^startOffset: expected a number, found a string$"),
        ({"files": [{"name": FILES[0], "size": True}]}, "^size: expected a number from 0 to 9223372036854775807"),
        ({"files": [5]}, "^one of files: expected an object, found a number$"),
    ],
)
def test_an_error_names_the_field(change: dict[str, object], problem: str) -> None:
    content = json.loads(encode(STORE))
    content["pending"]["parts"][0] |= change
    with pytest.raises(CorruptionError, match=problem):
        decode(json.dumps(content).encode())


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[]", b"[" * 100_000, b'{"version": ' + b"9" * 5000 + b"}"])
def test_what_is_not_json_is_an_error(data: bytes) -> None:
    with pytest.raises(CorruptionError, match="expected a JSON object"):
        decode(data)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"[]", "expected a JSON object, found list"),
        (b'{"version": 9}', "expected a JSON object of version 0, found version 9"),
        (b'{"version": "1"}', "found no version number"),
        (b"{}", "found no version number"),
    ],
)
def test_the_error_says_what_was_found(data: bytes, found: str) -> None:
    with pytest.raises(CorruptionError, match=found):
        decode(data)


def test_names_of_staged_files_are_recognised() -> None:
    file = StagedFile("0123456789abcdef", "0" * 32, 12)
    assert StagedFile.parse(file.name) == file
    assert not file.name[0].isdigit()
    for other in ("00000000000000000000.log", "octavo-topics.json", file.name + ".tmp", file.name[1:]):
        assert StagedFile.parse(other) is None
