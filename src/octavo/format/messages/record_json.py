"""The JSON text that Kafka's dump tool prints for records of internal topics."""

from __future__ import annotations

from typing import Any

from octavo.errors import CorruptionError
from octavo.format.messages.codec import decode_prefix
from octavo.format.messages.consumer_offsets import GROUP_METADATA
from octavo.format.messages.consumer_protocol import ASSIGNMENT, PROTOCOL_TYPE, SUBSCRIPTION
from octavo.format.messages.control import KRAFT_CONTROL_MESSAGES, WRITTEN_VERSION
from octavo.format.messages.json_form import json_text, json_value
from octavo.format.messages.records import (
    VERSION_BYTES,
    CoordinatorKey,
    CoordinatorRecord,
    MetadataRecord,
    read_version,
)
from octavo.format.messages.schema import Row


def key_json(key: CoordinatorKey) -> str:
    """A coordinator record's key, with its type as text."""
    return json_text({"type": str(key.type.id), "data": json_value(key.type.key, 0, key.data)})


def value_json(record: CoordinatorRecord) -> str | None:
    """A coordinator record's value, with its version as text; None for a tombstone."""
    if record.value is None:
        return None
    version, row = record.value
    data = json_value(record.key.type.value, version, row)
    if record.key.type is GROUP_METADATA and row["protocolType"] == PROTOCOL_TYPE:
        for shown, member in zip(data["members"], row["members"], strict=True):
            _show_consumer_protocol(shown, member)
    return json_text({"version": str(version), "data": data})


def metadata_json(record: MetadataRecord) -> str:
    """A record of the metadata log, with its version as a number."""
    message = record.type.message
    data = json_value(message, message.versions.nearest(record.version), record.data)
    return json_text({"type": record.type.name, "version": record.version, "data": data})


def kraft_control_json(type_id: int, row: Row) -> str:
    """The value of a KRaft control record, in its own version if known."""
    schema = KRAFT_CONTROL_MESSAGES[type_id]
    version = row["version"] if row["version"] in schema.versions else WRITTEN_VERSION
    return json_text(json_value(schema, version, row))


def _show_consumer_protocol(shown: dict[str, Any], member: Row) -> None:
    """Replace a member's bytes with their decoded content; unreadable ones stay base64."""
    for name, schema in (("subscription", SUBSCRIPTION), ("assignment", ASSIGNMENT)):
        try:
            version = schema.versions.nearest(read_version(schema, member[name]))
            row, _ = decode_prefix(schema, version, member[name], VERSION_BYTES, lenient=True)
        except CorruptionError:
            continue
        shown[name] = json_value(schema, version, row)
