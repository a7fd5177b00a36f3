"""Batches and messages whose timestamps a broker has set, as it does for LogAppendTime."""

from __future__ import annotations

import zlib

import numpy as np

from octavo import kernels
from octavo.format.batches.batch import read_header
from octavo.format.record import TimestampType
from octavo.kernels import layout

LOG_APPEND_TIME = TimestampType.LOG_APPEND_TIME


def stamp_batch(batch: bytes, timestamp_type: TimestampType, max_timestamp: int) -> bytes:
    """A v2 batch with another timestamp type and largest timestamp: only its header changes."""
    header, stamped = read_header(batch), bytearray(batch)
    next_offset = header.last_offset + 1 - header.count  # keeps the base offset
    appended, times = timestamp_type is LOG_APPEND_TIME, np.array([max_timestamp])
    kernels.stamp_batches(stamped, header.to_table(), next_offset, header.partition_leader_epoch, appended, times)
    return bytes(stamped)


def with_timestamp(message: bytes, timestamp_type: TimestampType, timestamp: int) -> bytes:
    """A v1 message with another timestamp and type."""
    changed = bytearray(message)
    changed[layout.MESSAGE_ATTRIBUTES_POSITION] &= layout.CODEC_MASK
    if timestamp_type is LOG_APPEND_TIME:
        changed[layout.MESSAGE_ATTRIBUTES_POSITION] |= layout.LOG_APPEND_TIME
    changed[layout.MESSAGE_TIMESTAMP_POSITION : layout.MESSAGE_V1.size] = timestamp.to_bytes(8, signed=True)
    crc = zlib.crc32(memoryview(changed)[layout.MESSAGE_MAGIC_POSITION :])
    changed[layout.MESSAGE_CRC_POSITION : layout.MESSAGE_MAGIC_POSITION] = crc.to_bytes(4)
    return bytes(changed)
