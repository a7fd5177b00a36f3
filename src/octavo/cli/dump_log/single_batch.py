"""Reads the header of one batch at a position in a log file."""

from __future__ import annotations

from typing import NamedTuple

from octavo.cli.dump_log.log_file import DumpedLog
from octavo.errors import CorruptRecordError
from octavo.kernels import layout
from octavo.kernels.integers import signed64


class SingleBatch(NamedTuple):
    """A batch's position and size, and its last offset."""

    position: int
    size: int
    last_offset: int


def batch_at(log: DumpedLog, position: int, end: int) -> SingleBatch | None:
    """The batch that begins at a position; None if `end` cuts it off."""
    if position >= end - layout.HEADER_UP_TO_MAGIC:
        return None
    header = log.read_at(position, layout.BATCH_OVERHEAD)
    offset, size = layout.ENTRY_PREFIX.unpack_from(header)
    if size < layout.MIN_MESSAGE_SIZE:
        raise too_small(log, position)
    if position > end - layout.LOG_OVERHEAD - size:
        return None
    magic = int.from_bytes(header[layout.MAGIC_POSITION : layout.HEADER_UP_TO_MAGIC], signed=True)
    if magic >= 2:
        offset = signed64(offset + header_fields(header, log, position)["lastOffsetDelta"])
    return SingleBatch(position, layout.LOG_OVERHEAD + size, offset)


def header_fields(header: bytes, log: DumpedLog, position: int) -> dict[str, int]:
    """The fields of a v2 batch's header, by name."""
    if len(header) < layout.BATCH_OVERHEAD:
        sentence = f"a batch header of {len(header)} bytes, expected {layout.BATCH_OVERHEAD}"
        raise CorruptRecordError(sentence, position=position, path=log.path)
    return dict(zip(layout.BATCH_FIELDS, layout.BATCH_HEADER.unpack(header), strict=True))


def too_small(log: DumpedLog, position: int) -> CorruptRecordError:
    """The error for an impossible size."""
    size = int.from_bytes(log.read_at(position + layout.SIZE_POSITION, 4), signed=True)
    found = f"a batch of length {size}" + (", as in the zeros of a preallocated file" if size == 0 else "")
    sentence = f"{found}, expected at least {layout.MIN_MESSAGE_SIZE}"
    return CorruptRecordError(sentence, position=position, path=log.path)
