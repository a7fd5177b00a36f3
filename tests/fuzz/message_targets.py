"""Targets for records of internal topics, control records and the consumer protocol: decoded, and most of them shown as
text if accepted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from random import Random

from octavo.format.batches.control import control_type_id, decode_control
from octavo.format.messages.cluster_metadata import METADATA_TYPES, decode_metadata_record
from octavo.format.messages.codec import encode
from octavo.format.messages.consumer_offsets import CONSUMER_OFFSETS_TYPES
from octavo.format.messages.consumer_protocol import (
    ASSIGNMENT,
    SUBSCRIPTION,
    decode_assignment,
    decode_subscription,
)
from octavo.format.messages.control import KRAFT_CONTROL_MESSAGES
from octavo.format.messages.record_json import key_json, kraft_control_json, metadata_json, value_json
from octavo.format.messages.records import RecordType, decode_metadata, decode_record, encode_key, encode_versioned
from octavo.format.messages.remote_log_metadata import REMOTE_METADATA_TYPES, remote_metadata_text
from octavo.format.messages.share_group_state import SHARE_GROUP_STATE_TYPES
from octavo.format.messages.transaction_state import TRANSACTION_STATE_TYPES
from octavo.format.varint import Bytes
from tests.format.messages.encoded import encode_metadata
from tests.format.messages.random_rows import random_row
from tests.fuzz import seeds
from tests.fuzz.target import Target, mutating

Types = Mapping[int, RecordType]


def joined(key: bytes, value: bytes | None) -> bytes:
    """Key and value as one input, after a byte with the key's length, whose top bit says that the value is null."""
    key = key[:127]
    return bytes([len(key) | (128 if value is None else 0)]) + key + (value or b"")


def parted(data: bytes) -> tuple[bytes, bytes | None]:
    length = data[0] & 127 if data else 0
    is_null = bool(data) and data[0] > 127
    return data[1 : 1 + length], None if is_null else data[1 + length :]


@cache
def coordinator_seeds(topic: str) -> list[bytes]:
    """Records of real brokers, and random ones of every type and version."""
    random, found = Random(topic), [joined(r.key or b"", r.value) for r in seeds.records(topic)]
    for kind in COORDINATORS[topic].values():
        key = encode_key(kind, random_row(random, kind.key, 0))
        found.append(joined(key, None))
        for version in kind.value.versions:
            row = random_row(random, kind.value, version, unknown_tags=True)
            found.append(joined(key, encode_versioned(kind.value, version, row)))
    return [seed for seed in found if len(seed) <= seeds.LARGEST_ENTRY]


COORDINATORS: dict[str, Types] = {
    "__consumer_offsets": CONSUMER_OFFSETS_TYPES,
    "__transaction_state": TRANSACTION_STATE_TYPES,
    "__share_group_state": SHARE_GROUP_STATE_TYPES,
}


def coordinator(topic: str) -> Target:
    def run(data: bytes) -> None:
        record = decode_record(COORDINATORS[topic], *parted(data))
        key_json(record.key)
        value_json(record)

    return Target(topic.strip("_").replace("_", "-"), mutating(lambda: coordinator_seeds(topic)), run, weight=2)


@cache
def metadata_seeds() -> list[bytes]:
    random, found = Random(0), [r.value for r in seeds.records("__cluster_metadata") if r.value]
    for kind in METADATA_TYPES.values():
        for version in kind.message.versions:
            found.append(encode_metadata(kind, version, random_row(random, kind.message, version, unknown_tags=True)))
    return [seed for seed in found if len(seed) <= seeds.LARGEST_ENTRY]


def run_metadata(data: bytes) -> None:
    metadata_json(decode_metadata_record(data))


@cache
def remote_seeds() -> list[bytes]:
    random, found = Random(3), []
    for kind in list(REMOTE_METADATA_TYPES.values()) * 4:
        for version in kind.message.versions:
            found.append(encode_metadata(kind, version, random_row(random, kind.message, version, unknown_tags=True)))
    return found


def run_remote(data: bytes) -> None:
    remote_metadata_text(decode_metadata(REMOTE_METADATA_TYPES, data))


@cache
def control_seeds() -> list[bytes]:
    random = Random(1)
    found = [joined(bytes([0, 0, 0, kind]), bytes.fromhex("000000000009")) for kind in (0, 1, 9)]
    for kind, message in KRAFT_CONTROL_MESSAGES.items():
        found.append(joined(bytes([0, 0, 0, kind]), encode(message, 0, random_row(random, message, 0))))
    return found


def run_control(data: bytes) -> None:
    key, value = parted(data)
    decoded = decode_control(key, value)
    if isinstance(decoded, dict):
        kraft_control_json(control_type_id(key), decoded)


@cache
def protocol_seeds() -> list[bytes]:
    random = Random(2)
    schemas = [(schema, version) for schema in (SUBSCRIPTION, ASSIGNMENT) for version in schema.versions]
    return [encode_versioned(schema, version, random_row(random, schema, version)) for schema, version in schemas * 3]


def run_protocol(data: bytes) -> None:
    decoders: tuple[Callable[[Bytes], object], ...] = (decode_subscription, decode_assignment)
    decoders[len(data) % 2](data)


MESSAGE_TARGETS = [
    *(coordinator(topic) for topic in COORDINATORS),
    Target("cluster-metadata", mutating(metadata_seeds), run_metadata, weight=3),
    Target("remote-log-metadata", mutating(remote_seeds), run_remote),
    Target("control", mutating(control_seeds), run_control),
    Target("consumer-protocol", mutating(protocol_seeds), run_protocol),
]
