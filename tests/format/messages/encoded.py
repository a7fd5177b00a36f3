"""Encodes messages that the package only reads."""

from __future__ import annotations

from collections.abc import Sequence

from octavo.format.batches.batch import Origin, build_batch
from octavo.format.batches.control import ControlType, encode_control_key
from octavo.format.messages.codec import encode
from octavo.format.messages.consumer_protocol import SUBSCRIPTION
from octavo.format.messages.control import KRAFT_CONTROL_MESSAGES, WRITTEN_VERSION
from octavo.format.messages.records import FRAME_VERSION, MetadataType, encode_versioned
from octavo.format.messages.schema import Row
from octavo.format.record import Record
from octavo.format.varint import encode_uvarint


def encode_metadata(kind: MetadataType, version: int, row: Row) -> bytes:
    """A metadata record with its frame."""
    numbers = FRAME_VERSION, kind.id, version
    return b"".join(map(encode_uvarint, numbers)) + encode(kind.message, version, row)


def encode_subscription(version: int, row: Row) -> bytes:
    """The subscription of a member of a classic group."""
    return encode_versioned(SUBSCRIPTION, version, row)


def encode_kraft_control(type_id: int, row: Row) -> bytes:
    """The value of a KRaft control record."""
    return encode(KRAFT_CONTROL_MESSAGES[type_id], WRITTEN_VERSION, row)


def build_kraft_batch(
    messages: Sequence[tuple[ControlType, Row]], *, base_offset: int, timestamp: int, partition_leader_epoch: int
) -> bytes:
    """A batch of KRaft control records; `partition_leader_epoch` is the quorum's."""
    records = [
        Record(offset, timestamp, encode_control_key(kind), encode_kraft_control(kind, row))
        for offset, (kind, row) in enumerate(messages, base_offset)
    ]
    return build_batch(records, partition_leader_epoch=partition_leader_epoch, origin=Origin(is_control=True))
