"""Control records: what a batch with the control bit holds instead of data.

This module has the keys, the markers that end transactions, and a function to build the batch of a marker. The messages
of KRaft's control records are in `octavo.format.messages.control`, which is imported when first needed: readers of
transactions need this module, but few need those messages. A control batch without a record is a marker that compaction
has emptied.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from struct import Struct
from struct import error as StructError
from typing import TYPE_CHECKING

from octavo.errors import EncodingError, InvalidRecordError
from octavo.format.batches.batch import Origin, build_batch
from octavo.format.record import Record
from octavo.kernels import layout
from octavo.system.shown import count

if TYPE_CHECKING:
    from octavo.format.messages.schema import Row
    from octavo.format.varint import Bytes

# Later versions may only add fields after these.
KEY_FIELDS = {"version": "h", "type": "h"}
MARKER_VALUE_FIELDS = {"version": "h", "coordinatorEpoch": "i"}
KEY = layout.big_endian(KEY_FIELDS)
MARKER_VALUE = layout.big_endian(MARKER_VALUE_FIELDS)
WRITTEN_VERSION = 0


class ControlType(IntEnum):
    """The type in a control record's key. Types without a name are UNKNOWN, and consumers ignore their records."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6

    @classmethod
    def _missing_(cls, value: object) -> ControlType:
        return cls.UNKNOWN


MARKERS = ControlType.ABORT, ControlType.COMMIT


@dataclass(frozen=True, slots=True)
class EndTransactionMarker:
    """The end of a producer's transaction in a partition: COMMIT or ABORT."""

    type: ControlType
    coordinator_epoch: int

    def __post_init__(self) -> None:
        if self.type not in MARKERS:
            raise EncodingError(f"a marker of type {self.type.name}, expected ABORT or COMMIT")

    def encode_value(self) -> bytes:
        try:
            return MARKER_VALUE.pack(WRITTEN_VERSION, self.coordinator_epoch)
        except StructError:
            raise EncodingError(f"coordinator epoch {self.coordinator_epoch} does not fit into 32 bits") from None


def control_type_id(key: Bytes | None) -> int:
    """The number of the type in the key; `ControlType` names it. A version above 0 is read like 0."""
    return _after_version(KEY, key, "key")


def encode_control_key(control_type: ControlType) -> bytes:
    if control_type is ControlType.UNKNOWN:
        raise EncodingError("a control record of an unknown type")
    return KEY.pack(WRITTEN_VERSION, control_type)


def decode_control(key: Bytes | None, value: Bytes | None) -> EndTransactionMarker | Row | None:
    """A transaction's marker, or the message of a KRaft record; None for an unknown type."""
    type_id = control_type_id(key)
    if type_id in MARKERS:
        return EndTransactionMarker(ControlType(type_id), _after_version(MARKER_VALUE, value, "value"))
    from octavo.format.messages.control import KRAFT_CONTROL_MESSAGES, decode_kraft_control

    if type_id not in KRAFT_CONTROL_MESSAGES:
        return None
    if value is None:
        raise InvalidRecordError(f"a null value in a {ControlType(type_id).name} record", position=0)
    return decode_kraft_control(type_id, value)


def build_marker_batch(
    marker: EndTransactionMarker,
    *,
    offset: int,
    timestamp: int,
    producer_id: int,
    producer_epoch: int,
    partition_leader_epoch: int = layout.NO_LEADER_EPOCH,
) -> bytes:
    """The batch that ends a transaction in a partition: a single record with its own offset."""
    record = Record(offset, timestamp, encode_control_key(marker.type), marker.encode_value())
    origin = Origin(producer_id=producer_id, producer_epoch=producer_epoch, is_transactional=True, is_control=True)
    return build_batch([record], partition_leader_epoch=partition_leader_epoch, origin=origin)


def _after_version(fields: Struct, data: Bytes | None, what: str) -> int:
    """The field after the version; fields that a later version adds are ignored."""
    if data is None or len(data) < fields.size:
        found = "null" if data is None else count(len(data), "byte")
        sentence = f"a control record's {what} of {found}, expected at least {fields.size} bytes"
        raise InvalidRecordError(sentence, position=0)
    version, field = fields.unpack_from(data)
    if version < 0:
        raise InvalidRecordError(f"version {version} of a control record's {what}, expected 0 or more", position=0)
    return int(field)
