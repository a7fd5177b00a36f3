"""What members of the classic consumer protocol put into a group's metadata: subscription and assignment.

Kafka reads a version later than those it knows as its newest one, since later versions only append fields.
"""

from __future__ import annotations

from octavo.format.messages.codec import decode_prefix
from octavo.format.messages.notation import message
from octavo.format.messages.records import VERSION_BYTES, Versioned, encode_versioned, read_version
from octavo.format.messages.schema import MessageSchema, Row
from octavo.format.varint import Bytes

PROTOCOL_TYPE = "consumer"
"""The protocolType of groups whose members use this protocol."""

SUBSCRIPTION = message("ConsumerProtocolSubscription", "0-3", "none", """
    topics           []string
    userData         bytes   nullable default=null
    ownedPartitions  []TopicPartition  1+  ignorable
        topic       string   1+
        partitions  []int32  1+
    generationId     int32   2+  default=-1 ignorable
    rackId           string  3+  nullable default=null ignorable
""")  # fmt: skip

ASSIGNMENT = message("ConsumerProtocolAssignment", "0-3", "none", """
    assignedPartitions  []TopicPartition
        topic       string
        partitions  []int32
    userData            bytes  nullable default=null
""")  # fmt: skip


def decode_subscription(data: Bytes) -> Versioned:
    """Decode a member's subscription; also returns the version used to read it."""
    return _decode(SUBSCRIPTION, data)


def decode_assignment(data: Bytes) -> Versioned:
    """Decode a member's assignment; also returns the version used to read it."""
    return _decode(ASSIGNMENT, data)


def encode_assignment(version: int, row: Row) -> bytes:
    return encode_versioned(ASSIGNMENT, version, row)


def _decode(schema: MessageSchema, data: Bytes) -> Versioned:
    version = min(read_version(schema, data), schema.versions.highest)
    return Versioned(version, decode_prefix(schema, version, data, VERSION_BYTES)[0])
