"""quorum-state of versions 0 and 1."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import CorruptionError, EncodingError
from octavo.format import kafka_uuid
from octavo.format.small_files import quorum_state
from octavo.format.small_files.quorum_state import QuorumState

V0 = (
    b'{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,'
    b'"currentVoters":[{"voterId":1}],"data_version":0}'
)
V1 = b'{"leaderId":-1,"leaderEpoch":2,"votedId":1,"votedDirectoryId":"J8aAPcfLQt2bqs1JT_rMgQ","data_version":1}'


def test_kafkas_text_is_read_and_written() -> None:
    state = QuorumState(0, leader_id=1, leader_epoch=2, voted_id=-1, current_voters=(1,))
    assert quorum_state.decode(V0) == state
    assert quorum_state.encode(state) == V0
    voted = QuorumState(1, -1, 2, 1, voted_directory_id=kafka_uuid.from_text("J8aAPcfLQt2bqs1JT_rMgQ"))
    assert quorum_state.decode(V1) == voted
    assert quorum_state.encode(voted) == V1


def test_only_the_first_line_counts() -> None:
    assert quorum_state.decode(V1 + b"\nmore") == quorum_state.decode(V1)


def test_unknown_keys_are_ignored_and_voters_may_be_null() -> None:
    fields = json.loads(V0) | {"more": 1, "currentVoters": None}
    assert quorum_state.decode(json.dumps(fields).encode()).current_voters is None


def changed(data: bytes, **fields: Any) -> bytes:
    """The JSON with other values; None removes a field."""
    content = json.loads(data) | fields
    return json.dumps({key: value for key, value in content.items() if value is not None}).encode()


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "found an empty file"),
        (b"\n", "expected a line of JSON"),
        (V0[:-1], "expected a line of JSON"),
        (b"[" * 100000, "expected a line of JSON"),
        (b"[]", "expected a JSON object"),
        (b"\xff", "expected UTF-8 text"),
        (changed(V0, data_version=None), "has no data_version"),
        (changed(V0, data_version=2), "of version 2, expected 0 or 1"),
        (changed(V0, data_version=-1), "of version -1, expected 0 or 1"),
        (changed(V0, data_version="0"), "data_version: expected a signed 16-bit integer, found '0'"),
        (changed(V0, leaderId=None), "has no leaderId"),
        (changed(V0, leaderEpoch=2**31), "leaderEpoch: expected a signed 32-bit integer"),
        (changed(V0, votedId=True), "votedId: expected a signed 32-bit integer"),
        (changed(V0, clusterId=5), "clusterId: expected a string"),
        (changed(V0, appliedOffset=2**63), "appliedOffset: expected a signed 64-bit integer"),
        (changed(V0, currentVoters=5), "currentVoters: expected a list of objects"),
        (changed(V0, currentVoters=[5]), "currentVoters: expected a list of objects"),
        (changed(V0, currentVoters=[{}]), "has no voterId"),
        (changed(V1, votedDirectoryId=None), "has no votedDirectoryId"),
        (changed(V1, votedDirectoryId="x"), "expected a uuid"),
    ],
)
def test_wrong_text_is_refused(data: bytes, problem: str) -> None:
    with pytest.raises(CorruptionError, match=problem) as raised:
        quorum_state.decode(data)
    assert raised.value.position == 0


@pytest.mark.parametrize(
    "state",
    [
        QuorumState(2, 1, 1, 1),
        QuorumState(1, -2, 1, 1),
        QuorumState(1, 1, 2**31, 1),
        QuorumState(1, 1, 1, 1, voted_directory_id=b""),
        QuorumState(0, 1, 1, 1, current_voters=(-2,)),
        QuorumState(0, 1, 1, 1, applied_offset=-1),
        QuorumState(0, 1, 1, 1, voted_directory_id=bytes(15) + b"x"),
        QuorumState(1, 1, 1, 1, current_voters=(1,)),
        QuorumState(1, 1, 1, 1, cluster_id="c"),
        QuorumState(0, 1, 1, 1, cluster_id="\ud800"),
    ],
)
def test_states_that_cannot_be_written_are_refused(state: QuorumState) -> None:
    with pytest.raises(EncodingError):
        quorum_state.encode(state)


IDS = st.integers(-1, 2**31 - 1)
VERSION_0 = st.builds(
    QuorumState,
    st.just(0),
    IDS,
    IDS,
    IDS,
    st.just(kafka_uuid.ZERO_UUID),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.integers(0, 2**63 - 1),
    st.none() | st.lists(IDS).map(tuple),
)
VERSION_1 = st.builds(
    QuorumState,
    st.just(1),
    IDS,
    IDS,
    IDS,
    st.binary(min_size=16, max_size=16),
    st.just(""),
    st.just(0),
    st.just(()),
)


@given(VERSION_0 | VERSION_1)
def test_what_is_written_is_read_again(state: QuorumState) -> None:
    assert quorum_state.decode(quorum_state.encode(state)) == state
