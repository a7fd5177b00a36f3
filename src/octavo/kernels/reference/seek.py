"""Searches the slots of an index; finds the first batch that reaches an offset or a timestamp, and the first record
that reaches a timestamp. In plain Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.kernels import layout
from octavo.kernels.integers import signed64
from octavo.kernels.layout import Seek
from octavo.kernels.reference.varint import BrokenVarintError, read_varint, read_varlong

if TYPE_CHECKING:
    from typing_extensions import Buffer

SeekResult = tuple[int, int, int, int, int, int]


def last_slot_up_to(data: Buffer, entry_bytes: int, position: int, width: int, target: int) -> int:
    """The last slot whose number is not above the target, or -1 if there is none; slots must ascend.

    Each entry has `entry_bytes` bytes, with its number at `position`, `width` (4 or 8) bytes wide. If slots do not
    ascend, the search still terminates, at some slot.
    """
    if entry_bytes < position + width or position < 0 or width not in (4, 8):
        raise ValueError(f"a number of {width} bytes at position {position} of an entry of {entry_bytes} bytes")
    view = memoryview(data).cast("B")
    low, high = 0, len(view) // entry_bytes
    while low < high:
        middle = (low + high) // 2
        at = middle * entry_bytes + position
        if int.from_bytes(view[at : at + width], signed=True) > target:
            high = middle
        else:
            low = middle + 1
    return low - 1


def find_timestamp(data: Buffer, timestamp: int, start_offset: int) -> SeekResult:
    """The first record, from an offset on, with at least this timestamp, among the batches at the start of `data`.

    Returns (Seek, position of the batch, its size, timestamp, offset, leader epoch). Only what is needed is read, and
    no CRC is checked. The last batch may be incomplete.
    """
    view, position = memoryview(data).cast("B"), 0
    while len(view) - position >= layout.BATCH_OVERHEAD:
        batch = view[position:]
        fields = layout.BATCH_HEADER.unpack_from(batch)
        size, magic, attributes, max_timestamp = fields[1] + layout.LOG_OVERHEAD, fields[3], fields[5], fields[8]
        if magic != 2 or size < layout.BATCH_OVERHEAD:
            return Seek.DECODE, position, size, -1, -1, -1
        if max_timestamp >= timestamp:
            if attributes & layout.CODEC_MASK:
                return Seek.DECODE, position, size, -1, -1, -1
            found = _seek_records(batch[:size], size, timestamp, start_offset)
            if found is not None:
                return found[0], position, size, *found[1:]
        position += size
    return Seek.MORE, position, 0, -1, -1, -1


def _seek_records(batch: memoryview, size: int, timestamp: int, start_offset: int) -> tuple[int, int, int, int] | None:
    """How the search ends in this batch; None if it continues after it."""
    base_offset, _, epoch, _, _, attributes, _, base_timestamp, max_timestamp, *_, count = (
        layout.BATCH_HEADER.unpack_from(batch)
    )
    at, broken = layout.BATCH_OVERHEAD, (Seek.MORE if len(batch) < size else Seek.DECODE, -1, -1, -1)
    try:
        for _ in range(count):
            length, at = read_varint(batch, at, len(batch))
            if length < 1 or at >= len(batch):
                return broken
            delta, after = read_varlong(batch, at + 1, len(batch))
            offset_delta, _ = read_varint(batch, after, len(batch))
            found = max_timestamp if attributes & layout.LOG_APPEND_TIME else signed64(base_timestamp + delta)
            offset = signed64(base_offset + offset_delta)
            if found >= timestamp and offset >= start_offset:
                return Seek.FOUND, found, offset, epoch
            if length > len(batch) - at:
                return broken
            at += length
    except BrokenVarintError:
        return broken
    return None


def find_batch(data: Buffer, target: int, by_timestamp: bool) -> tuple[int, int, int, int]:
    """The first v2 batch whose last offset (`by_timestamp`: whose largest timestamp) is not below the target, among the
    batches at the start of `data`.

    Returns (Seek, base offset, position, size). Only headers are read: the last batch may be incomplete. With MORE the
    search continues at the position, which may lie beyond the data; with DECODE the batch there is in an old format, or
    broken.
    """
    view, position = memoryview(data).cast("B"), 0
    while len(view) - position >= layout.BATCH_OVERHEAD:
        fields = layout.BATCH_HEADER.unpack_from(view, position)
        base_offset, size, magic, last_offset_delta, max_timestamp = *fields[:2], fields[3], fields[6], fields[8]
        size += layout.LOG_OVERHEAD
        if magic != 2 or size < layout.BATCH_OVERHEAD:
            return Seek.DECODE, -1, position, 0
        if (max_timestamp if by_timestamp else signed64(base_offset + last_offset_delta)) >= target:
            return Seek.FOUND, base_offset, position, size
        position += size
    return Seek.MORE, -1, position, 0
