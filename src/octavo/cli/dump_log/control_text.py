"""The content of a control record as text, which is printed after the record's metadata."""

from __future__ import annotations

from octavo.format.batches.control import ControlType, EndTransactionMarker, control_type_id, decode_control
from octavo.format.messages.codec import decode_prefix
from octavo.format.messages.control import KRAFT_CONTROL_MESSAGES, WRITTEN_VERSION
from octavo.format.messages.record_json import kraft_control_json

_TITLES = {
    ControlType.LEADER_CHANGE: "LeaderChange:",
    ControlType.SNAPSHOT_HEADER: "SnapshotHeader",
    ControlType.SNAPSHOT_FOOTER: "SnapshotFooter",
    ControlType.KRAFT_VERSION: "KRaftVersion",
    ControlType.KRAFT_VOTERS: "KRaftVoters",
}


def control_text(key: bytes | None, value: bytes | None) -> str:
    type_id = control_type_id(key)
    message = KRAFT_CONTROL_MESSAGES.get(type_id)
    if message is not None and value is not None:
        row, _ = decode_prefix(message, WRITTEN_VERSION, value, lenient=True)
        return f" {_TITLES[ControlType(type_id)]} {kraft_control_json(type_id, row)}"
    found = decode_control(key, value)
    if isinstance(found, EndTransactionMarker):
        return f" endTxnMarker: {found.type.name} coordinatorEpoch: {found.coordinator_epoch}"
    return f" controlType: UNKNOWN({type_id})"
