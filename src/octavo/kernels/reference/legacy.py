"""Decodes v0 and v1 message sets to columns, in plain Python."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from octavo.kernels import layout
from octavo.kernels.columns import RecordColumns
from octavo.kernels.integers import signed64
from octavo.kernels.layout import Code, Column, Outcome
from octavo.kernels.reference.columns import DecodeProblem, RecordRow, append, capacity, free_bytes, require_writable

if TYPE_CHECKING:
    from typing_extensions import Buffer


def decode_messages(
    data: Buffer,
    start: int,
    end: int,
    out: RecordColumns,
    columns: int = Column.ALL,
    check_crc: bool = True,
    relative: bool = False,
    wrapper_offset: int = 0,
    timestamp: int | None = None,
) -> Outcome:
    """Append the uncompressed messages of data[start:end] to the columns `out`, all or none.

    `relative`: the set is from a v1 wrapper at `wrapper_offset`; its offsets are relative to its first message.
    `timestamp`: the wrapper's, if it overrides that of v1 messages. Returns an `Outcome` (the second number is 0).
    """
    require_writable(out, columns)
    view = memoryview(data).cast("B")
    if not 0 <= start <= end <= len(view):
        raise ValueError(f"range {start}..{end} is not inside a buffer of {len(view)} bytes")
    try:
        entries = _entries(view, start, end)
        for column, asked in ((out.key, Column.KEY), (out.value, Column.VALUE)):
            if columns & asked and free_bytes(column, out.rows) < end - start:
                raise DecodeProblem(Code.FULL, start)
        if out.rows + len(entries) > capacity(out):
            raise DecodeProblem(Code.FULL, start)
        base_offset = _base_offset(view, entries[-1][0], wrapper_offset) if relative else 0
        rows = [_message(view, at, stop, base_offset, check_crc, timestamp) for at, stop in entries]
    except DecodeProblem as problem:
        code, position, found = problem.outcome
        return code, 0, position, found
    for row in rows:
        append(out, row, columns)
    return Code.DONE, 0, 0, 0


def _entries(view: memoryview, at: int, end: int) -> list[tuple[int, int]]:
    """Start and end of each whole message; an incomplete one ends the set."""
    start, entries = at, []
    while end - at >= layout.LOG_OVERHEAD:
        _, size = layout.ENTRY_PREFIX.unpack_from(view, at)
        if size < layout.MIN_MESSAGE_SIZE:
            raise DecodeProblem(Code.MESSAGE_TOO_SMALL, at, size)
        if size > end - at - layout.LOG_OVERHEAD:
            break
        entries.append((at, at + layout.LOG_OVERHEAD + size))
        at = entries[-1][1]
    if not entries:
        raise DecodeProblem(Code.EMPTY_MESSAGE_SET, start, end - start)
    return entries


def _base_offset(view: memoryview, last: int, wrapper_offset: int) -> int:
    # A wrapper offset of 0: some versions of librdkafka left all offsets to the broker. Inner ones are then absolute.
    if wrapper_offset == 0:
        return 0
    inner, _ = layout.ENTRY_PREFIX.unpack_from(view, last)
    if wrapper_offset < inner:
        raise DecodeProblem(Code.OFFSET_BELOW_INNER, last, inner)
    return int(wrapper_offset - inner)


def _message(
    view: memoryview, at: int, end: int, base_offset: int, check_crc: bool, overruling: int | None
) -> RecordRow:
    offset, _, crc, magic, attributes = layout.MESSAGE_V0.unpack_from(view, at)
    if attributes & layout.CODEC_MASK:
        raise DecodeProblem(Code.NESTED_COMPRESSION, at, attributes & layout.CODEC_MASK)
    if check_crc and crc != zlib.crc32(view[at + layout.MESSAGE_MAGIC_POSITION : end]):
        raise DecodeProblem(Code.MESSAGE_CRC_MISMATCH, at, crc)
    header = layout.MESSAGE_V0 if magic == 0 else layout.MESSAGE_V1
    if end - at < header.size + 8:
        raise DecodeProblem(Code.FIELD_BEYOND_MESSAGE, at, end - at)
    timestamp = layout.NO_TIMESTAMP if magic == 0 else layout.MESSAGE_V1.unpack_from(view, at)[5]
    if overruling is not None and magic == 1:
        timestamp = overruling
    key, after_key = _field(view, at + header.size, end - 4)
    value, _ = _field(view, after_key, end)
    return RecordRow(signed64(offset + base_offset), timestamp, key, value, [])


def _field(view: memoryview, at: int, end: int) -> tuple[memoryview | None, int]:
    length = int.from_bytes(view[at : at + 4], signed=True)
    if length > end - at - 4:
        raise DecodeProblem(Code.FIELD_BEYOND_MESSAGE, at, length)
    return (None, at + 4) if length < 0 else (view[at + 4 : at + 4 + length], at + 4 + length)
