"""Decodes the records of internal topics like kafka-dump-log, with its texts for unreadable ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from octavo.cli.dump_log.decoders import PayloadDecoder
from octavo.errors import CorruptionError, InvalidRecordError
from octavo.format.legacy.message import FieldBeyondMessageError, Message
from octavo.format.messages import schema
from octavo.format.messages.cluster_metadata import METADATA_TYPES
from octavo.format.messages.codec import decode_prefix
from octavo.format.messages.consumer_offsets import CONSUMER_OFFSETS_TYPES
from octavo.format.messages.primitive_readers import UnreadableMessageError
from octavo.format.messages.record_json import key_json, metadata_json, value_json
from octavo.format.messages.records import (
    FRAME_VERSION,
    VERSION_BYTES,
    CoordinatorKey,
    CoordinatorRecord,
    MetadataRecord,
    MetadataType,
    RecordType,
    Versioned,
)
from octavo.format.messages.remote_log_metadata import REMOTE_METADATA_TYPES, remote_metadata_text
from octavo.format.messages.share_group_state import SHARE_GROUP_STATE_TYPES
from octavo.format.messages.transaction_state import TRANSACTION_STATE_TYPES
from octavo.format.record import Record
from octavo.format.varint import decode_uvarint

TOMBSTONE = "<DELETE>"


class UnreadableError(Exception):
    """Why a record cannot be read, in Kafka's words."""


def _coordinator(types: Mapping[int, RecordType]) -> PayloadDecoder:
    """The decoder of a coordinator's records; for an unreadable one it returns a text in place of the key."""

    def decode(record: Record | Message) -> tuple[str | None, str | None]:
        offset = record.offset
        if (record.key_size < 0) if isinstance(record, Message) else (record.key is None):
            raise InvalidRecordError(
                f"Failed to decode message at offset {offset} using the specified decoder (message had a missing key)"
            )
        try:
            key, value = _content(record, "key") or b"", _content(record, "value")
            type_id = _version(key, "key")
            if type_id not in types:
                return f"Unknown record type {type_id} at offset {offset}, skipping.", None
            return _texts(types[type_id], key, value)
        except UnreadableError as error:
            return f"Error at offset {offset}, skipping. {error}", None

    return decode


def _texts(kind: RecordType, key: bytes, value: bytes | None) -> tuple[str, str]:
    shown = CoordinatorKey(kind, _body(kind.key, 0, key, kind.id, "key"))
    if value is None:
        return key_json(shown), TOMBSTONE
    version = _version(value, "value")
    if version not in kind.value.versions:
        raise UnreadableError(f"Found an unknown record version {version} for {kind.id} type")
    row = _body(kind.value, version, value, version, "value")
    return key_json(shown), value_json(CoordinatorRecord(shown, Versioned(version, row))) or TOMBSTONE


def _content(record: Record | Message, field: Literal["key", "value"]) -> bytes | None:
    """A key or value; a damaged v0 or v1 message may not have it."""
    try:
        return record.key if field == "key" else record.value
    except FieldBeyondMessageError as error:
        raise UnreadableError(f"newLimit > capacity: ({error.size} > {error.left})") from None
    except InvalidRecordError:
        raise UnreadableError("null") from None


def _cluster_metadata(record: Record | Message) -> tuple[None, str]:
    """Decode a metadata record; these have no keys."""
    try:
        return None, metadata_json(_framed(METADATA_TYPES, _content(record, "value") or b""))
    except UnreadableError as error:
        return None, f"Error at {record.offset}, skipping. {error}"


def _remote_log_metadata(record: Record | Message) -> tuple[None, str]:
    try:
        value = _content(record, "value")
        if value is None:
            raise UnreadableError(
                'Cannot invoke "java.nio.ByteBuffer.remaining()" because the return value of '
                '"org.apache.kafka.common.record.internal.Record.value()" is null'
            )
        return None, remote_metadata_text(_framed(REMOTE_METADATA_TYPES, value))
    except UnreadableError as error:
        return None, f"Error at offset {record.offset}, skipping. {error}"
    except CorruptionError as error:
        return None, f"Error at offset {record.offset}, skipping. {error.problem}"


def _framed(types: Mapping[int, MetadataType], value: bytes) -> MetadataRecord:
    """Decode a record that follows a frame: the frame's version, and the record's type and version."""
    frame_version, at = _frame_number(value, 0, "frame version")
    if frame_version == 0:
        raise UnreadableError(
            "Could not deserialize metadata record with frame version 0. Note that upgrades from the preview release "
            "of KRaft in 2.8 to newer versions are not supported."
        )
    if frame_version != FRAME_VERSION:
        supported = f"(only frame version {FRAME_VERSION} is supported)"
        raise UnreadableError(
            f"Could not deserialize metadata record due to unknown frame version {frame_version}{supported}"
        )
    type_id, at = _frame_number(value, at, "type")
    version, at = _frame_number(value, at, "version")
    if type_id not in types:
        unknown = f"Unknown metadata id {type_id}"
        raise UnreadableError(f"org.apache.kafka.common.errors.UnsupportedVersionException: {unknown}")
    kind = types[type_id]
    try:
        row, end = decode_prefix(kind.message, kind.message.versions.nearest(version), value, at, lenient=True)
    except CorruptionError:
        raise UnreadableError(f"Failed to deserialize record with type {type_id}") from None
    if version > kind.message.versions.highest and _holds_structs(kind.message, row):
        raise UnreadableError(f"Failed to deserialize record with type {type_id}")
    if end < len(value):
        raise UnreadableError(f"Found {len(value) - end} byte(s) of garbage after {type_id}")
    return MetadataRecord(kind, version, row)


def _holds_structs(message: schema.MessageSchema, row: schema.Row) -> bool:
    """Whether the message contains a struct: only there do Kafka's readers check whether they know a version."""
    return any(
        row[part.name]
        for part in message.fields
        if isinstance(part.type, schema.Struct)
        or (isinstance(part.type, schema.Array) and isinstance(part.type.element, schema.Struct))
    )


def _frame_number(value: bytes, at: int, what: str) -> tuple[int, int]:
    """Read an unsigned varint that Kafka keeps as an int16; it refuses larger ones, unless they are negative in 32
    bits."""
    try:
        number, end = decode_uvarint(value, at)
    except CorruptionError:
        raise UnreadableError(f"Error while reading {what}") from None
    if 2**15 <= number < 2**31:
        raise UnreadableError(f"Value for {what} was too large.")
    return (number + 2**15) % 2**16 - 2**15, end


def _version(content: bytes, what: str) -> int:
    if len(content) < VERSION_BYTES:
        raise UnreadableError(f"Could not read version from {what}'s buffer.")
    return int.from_bytes(content[:VERSION_BYTES], signed=True)


def _body(message: schema.MessageSchema, version: int, content: bytes, shown_version: int, what: str) -> schema.Row:
    try:
        return decode_prefix(message, version, content, VERSION_BYTES, lenient=True)[0]
    except CorruptionError as error:
        start = f"Could not read record with version {shown_version} from {what}'s buffer due to: "
        cause = error.kafka_reason if isinstance(error, UnreadableMessageError) else error.problem
        raise UnreadableError(f"{start}{cause}.") from None


TOPIC_DECODERS: dict[str, PayloadDecoder] = {
    "offsets-decoder": _coordinator(CONSUMER_OFFSETS_TYPES),
    "transaction-log-decoder": _coordinator(TRANSACTION_STATE_TYPES),
    "cluster-metadata-decoder": _cluster_metadata,
    "remote-log-metadata-decoder": _remote_log_metadata,
    "share-group-state-decoder": _coordinator(SHARE_GROUP_STATE_TYPES),
}
