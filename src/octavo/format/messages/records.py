"""How internal topics wrap messages: types and versions in front of keys and values.

A coordinator record's key is an int16 record type and a message, its value an int16 version and a message; a null value
is a tombstone. A metadata record has a frame instead: uvarint frame version, record type, record version. Bytes after a
coordinator's message are ignored, as in Kafka; after a metadata record they are corruption.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from octavo.errors import CorruptionError
from octavo.format.messages.codec import check_end, decode_prefix, encode
from octavo.format.messages.notation import message
from octavo.format.messages.primitive_readers import truncated, uvarint
from octavo.format.messages.schema import MessageSchema, Row
from octavo.format.varint import Bytes

FRAME_VERSION = 1

VERSION_BYTES = 2

_PREFIX = struct.Struct(">h")


class UnknownRecordTypeError(CorruptionError):
    """A record type without a known schema; Kafka's coordinators skip such records."""

    def __init__(self, type_id: int, *, position: int) -> None:
        super().__init__(f"record type {type_id} is unknown", position=position)
        self.type_id = type_id


class RecordType(NamedTuple):
    """One kind of record of a coordinator's topic: the schemas of its key and its value."""

    id: int
    name: str
    key: MessageSchema
    value: MessageSchema


class MetadataType(NamedTuple):
    """One kind of record of the metadata log."""

    id: int
    name: str
    message: MessageSchema


_Kind = TypeVar("_Kind", RecordType, MetadataType)


class Versioned(NamedTuple):
    """A message and the int16 version that precedes it."""

    version: int
    data: Row


class CoordinatorKey(NamedTuple):
    """A decoded key: the kind of record, and its fields."""

    type: RecordType
    data: Row


class CoordinatorRecord(NamedTuple):
    """A decoded key and value; without a value it is a tombstone."""

    key: CoordinatorKey
    value: Versioned | None


class MetadataRecord(NamedTuple):
    """A decoded record of the metadata log."""

    type: MetadataType
    version: int
    data: Row


def record_type(type_id: int, name: str, key: str, versions: str, flexible: str, value: str) -> RecordType:
    """Declare a coordinator's record type; keys only have version 0 and are never flexible."""
    return RecordType(
        type_id,
        _constant_name(name),
        message(f"{name}Key", "0", "none", key),
        message(f"{name}Value", versions, flexible, value),
    )


def by_id(*types: _Kind) -> dict[int, _Kind]:
    """A topic's record types by their ids."""
    return {kind.id: kind for kind in types}


def metadata_type(type_id: int, name: str, versions: str, fields: str) -> MetadataType:
    """Declare a metadata record type; all its versions are flexible."""
    return MetadataType(type_id, _constant_name(name), message(name, versions, "0+", fields))


def decode_record(types: Mapping[int, RecordType], key: Bytes, value: Bytes | None) -> CoordinatorRecord:
    """Decode a record of a coordinator's topic."""
    decoded_key = decode_key(types, key)
    return CoordinatorRecord(decoded_key, None if value is None else decode_versioned(decoded_key.type.value, value))


def decode_key(types: Mapping[int, RecordType], data: Bytes) -> CoordinatorKey:
    """Decode a key of a coordinator's topic."""
    type_id = _read_prefix(data, "the record type")
    if type_id not in types:
        raise UnknownRecordTypeError(type_id, position=0)
    kind = types[type_id]
    return CoordinatorKey(kind, decode_prefix(kind.key, 0, data, VERSION_BYTES)[0])


def encode_key(kind: RecordType, row: Row) -> bytes:
    return _PREFIX.pack(kind.id) + encode(kind.key, 0, row)


def decode_versioned(schema: MessageSchema, data: Bytes) -> Versioned:
    """Decode an int16 version and the message that follows it: a coordinator record's value."""
    version = read_version(schema, data)
    return Versioned(version, decode_prefix(schema, version, data, VERSION_BYTES)[0])


def read_version(schema: MessageSchema, data: Bytes) -> int:
    """Read the int16 version before a message."""
    return _read_prefix(data, f"the version of {schema.name}")


def encode_versioned(schema: MessageSchema, version: int, row: Row) -> bytes:
    """Encode an int16 version and the message."""
    encoded = encode(schema, version, row)
    return _PREFIX.pack(version) + encoded


def decode_metadata(types: Mapping[int, MetadataType], data: Bytes) -> MetadataRecord:
    """Decode a value of the metadata log."""
    frame_version, position = uvarint(data, 0, "the frame version")
    if frame_version != FRAME_VERSION:
        raise CorruptionError(f"frame version {frame_version} is unknown, expected {FRAME_VERSION}", position=0)
    type_id, version_position = uvarint(data, position, "the record type")
    if type_id not in types:
        raise UnknownRecordTypeError(type_id, position=position)
    version, start = uvarint(data, version_position, "the record version")
    kind = types[type_id]
    row, end = decode_prefix(kind.message, version, data, start)
    check_end(data, end, f"{kind.name} version {version}")
    return MetadataRecord(kind, version, row)


def _read_prefix(data: Bytes, what: str) -> int:
    try:
        value: int = _PREFIX.unpack_from(data, 0)[0]
    except struct.error:
        raise truncated(what, 0, VERSION_BYTES, data) from None
    return value


def _constant_name(name: str) -> str:
    """Kafka's constant for a schema, e.g. OFFSET_COMMIT for OffsetCommit."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()
