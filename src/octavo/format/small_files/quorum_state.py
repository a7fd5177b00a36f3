"""`quorum-state` in the folder of `__cluster_metadata`: what a KRaft node remembers about the last election."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from octavo.errors import CorruptionError, EncodingError
from octavo.format import kafka_uuid
from octavo.format.java.text import lines, shortened
from octavo.kernels.integers import INT32_MAX, INT64_MAX


class QuorumState(NamedTuple):
    """Version 0 is for a fixed set of voters; version 1 is for voters that may change, and does not list them."""

    version: int
    leader_id: int  # -1: none; the same holds for voted_id
    leader_epoch: int
    voted_id: int
    voted_directory_id: bytes = kafka_uuid.ZERO_UUID  # version 1
    cluster_id: str = ""  # this and the following: version 0
    applied_offset: int = 0
    current_voters: tuple[int, ...] | None = ()


def decode(data: bytes) -> QuorumState:
    """Decode the state in the file's first line. Keys unknown to the version are ignored."""
    content = lines(data)
    if not content:
        raise CorruptionError("expected a line of JSON, found an empty file", position=0)
    try:
        fields = json.loads(content[0].text)
    except (ValueError, RecursionError) as error:
        raise CorruptionError(f"expected a line of JSON, found {shortened(content[0].text)}", position=0) from error
    if not isinstance(fields, dict):
        raise CorruptionError(f"expected a JSON object, found {shortened(content[0].text)}", position=0)
    version = _integer(fields, "data_version", 16)
    common = (version, _integer(fields, "leaderId"), _integer(fields, "leaderEpoch"), _integer(fields, "votedId"))
    if version == 1:
        return QuorumState(*common, kafka_uuid.from_text(_string(fields, "votedDirectoryId"), 0))
    if version == 0:
        return QuorumState(
            *common,
            cluster_id=_string(fields, "clusterId"),
            applied_offset=_integer(fields, "appliedOffset", 64),
            current_voters=_voters(_field(fields, "currentVoters")),
        )
    raise CorruptionError(f"quorum-state of version {version}, expected 0 or 1", position=0)


def encode(state: QuorumState) -> bytes:
    """The file's bytes: one line of JSON without a line break."""
    for number in (state.leader_id, state.leader_epoch, state.voted_id, *(state.current_voters or ())):
        if not -1 <= number <= INT32_MAX:
            raise EncodingError(f"{number} is not in the range -1 to {INT32_MAX} of ids and epochs")
    common = {"leaderId": state.leader_id, "leaderEpoch": state.leader_epoch, "votedId": state.voted_id}
    fields: dict[str, Any]
    if state.version == 1:
        if state != state._replace(cluster_id="", applied_offset=0, current_voters=()):
            raise EncodingError(f"version 1 holds no cluster id, applied offset or voters: {state}")
        fields = {**common, "votedDirectoryId": kafka_uuid.to_text(state.voted_directory_id)}
    elif state.version == 0:
        if state.voted_directory_id != kafka_uuid.ZERO_UUID:
            raise EncodingError(f"version 0 holds no directory id: {state}")
        if not 0 <= state.applied_offset <= INT64_MAX:
            raise EncodingError(f"applied offset {state.applied_offset} is not in the range 0 to {INT64_MAX}")
        voters = None if state.current_voters is None else [{"voterId": voter} for voter in state.current_voters]
        fields = {"clusterId": state.cluster_id, **common}
        fields |= {"appliedOffset": state.applied_offset, "currentVoters": voters}
    else:
        raise EncodingError(f"quorum-state of version {state.version}, expected 0 or 1")
    fields["data_version"] = state.version
    try:
        return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise EncodingError(f"cluster id {state.cluster_id!r} is not Unicode text") from error


def _field(fields: dict[str, Any], name: str) -> Any:
    if name not in fields:
        raise CorruptionError(f"quorum-state has no {name}", position=0)
    return fields[name]


def _integer(fields: dict[str, Any], name: str, bits: int = 32) -> int:
    value = _field(fields, name)
    if type(value) is not int or not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise CorruptionError(
            f"{name}: expected a signed {bits}-bit integer, found {shortened(str(value))}", position=0
        )
    return value


def _string(fields: dict[str, Any], name: str) -> str:
    value = _field(fields, name)
    if not isinstance(value, str):
        raise CorruptionError(f"{name}: expected a string, found {shortened(str(value))}", position=0)
    return value


def _voters(value: Any) -> tuple[int, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(voter, dict) for voter in value):
        raise CorruptionError(f"currentVoters: expected a list of objects, found {shortened(str(value))}", position=0)
    return tuple(_integer(voter, "voterId") for voter in value)
