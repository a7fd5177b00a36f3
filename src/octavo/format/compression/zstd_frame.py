"""Reads the headers and block sizes of zstd frames (RFC 8878), without decompressing the blocks."""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from octavo.errors import InvalidRecordError

MAGIC = 0xFD2FB528
SKIPPABLE_MAGIC, SKIPPABLE_MASK = 0x184D2A50, 0xFFFFFFF0
BLOCK_MAX_BYTES = 128 * 1024
MIN_WINDOW_LOG = 10
CHECKSUM_BYTES = 4
BLOCK_HEADER_BYTES = 3  # bit 0: the last block; bits 1-2: its type; then its size
RAW, RLE, COMPRESSED = 0, 1, 2

UINT32 = Struct("<I")
DICTIONARY_ID_BYTES = (0, 1, 2, 4)
CONTENT_SIZE_BYTES = (0, 2, 4, 8)


class OutputSize(NamedTuple):
    """What the headers of frames say about their content."""

    bound: int  # the content is at most this many bytes
    declared: int  # the sum of the declared content sizes


def output_size(data: memoryview) -> OutputSize:
    """How large the content of these frames can be. Each frame must be complete, and nothing may follow the last.

    zstd-jni accepts an incomplete second frame if it was read in one piece with the first. That is an accident of its
    buffering; here it is an error, like every truncation.
    """
    bound = declared = position = 0
    while position < len(data):
        magic = _uint32(data, position)
        if magic & SKIPPABLE_MASK == SKIPPABLE_MAGIC:
            size = 2 * UINT32.size + _uint32(data, position + UINT32.size)
            if size > len(data) - position:
                raise InvalidRecordError(
                    f"a skippable zstd frame of {size} bytes, but only {len(data) - position} are left",
                    position=position,
                )
            position += size
        elif magic == MAGIC:
            position, frame = _frame_size(data, position)
            bound += frame.bound
            declared += frame.declared
        else:
            raise InvalidRecordError(f"zstd magic {magic:#010x}, expected {MAGIC:#010x}", position=position)
    return OutputSize(bound, declared)


def without_content_size(frame: memoryview) -> bytes:
    """The same frame with a header that has only its window size. The frame must not have a checksum."""
    end, window_bytes, _, _ = _read_header(frame, 0)
    return b"".join((UINT32.pack(MAGIC), b"\0", bytes([_window_descriptor(window_bytes)]), frame[end:]))


def _read_header(data: memoryview, position: int) -> tuple[int, int, int, int]:
    """Where a frame's header ends, its window in bytes, its content size (0: none), and whether it has a checksum."""
    at = position + UINT32.size
    try:
        descriptor = data[at]
        single_segment = descriptor & 0x20
        at += 1
        window = 0
        if not single_segment:
            base = 1 << (MIN_WINDOW_LOG + (data[at] >> 3))
            window = base + (base >> 3) * (data[at] & 7)
            at += 1
    except IndexError:
        raise InvalidRecordError("a zstd frame that is cut off in its header", position=position) from None
    if descriptor & 0x08:
        raise InvalidRecordError(f"zstd frame descriptor {descriptor:#04x}, expected bit 3 to be 0", position=position)
    at += DICTIONARY_ID_BYTES[descriptor & 3]
    size_bytes = CONTENT_SIZE_BYTES[descriptor >> 6] or (1 if single_segment else 0)
    end = at + size_bytes
    if end > len(data):
        raise InvalidRecordError("a zstd frame that is cut off in its header", position=position)
    content_size = int.from_bytes(data[at:end], "little") + (256 if size_bytes == 2 else 0)
    if single_segment:  # the window is the content
        window = content_size
    return end, window, content_size, descriptor & 0x04


def _frame_size(data: memoryview, start: int) -> tuple[int, OutputSize]:
    """Where the frame ends, and how much it can hold. A content size that its blocks cannot hold is refused.

    (libzstd checks the content size only when it decompresses in one pass, into room for all of it.)
    """
    position, window_bytes, declared, has_checksum = _read_header(data, start)
    block_max = min(window_bytes, BLOCK_MAX_BYTES)
    bound = last = 0
    while not last:
        if len(data) - position < BLOCK_HEADER_BYTES:
            raise InvalidRecordError("a zstd frame without its last block", position=position)
        last = data[position] & 1
        kind = data[position] >> 1 & 3
        size = data[position] >> 3 | data[position + 1] << 5 | data[position + 2] << 13
        if kind > COMPRESSED:
            raise InvalidRecordError(f"zstd block type {kind}, expected 0, 1 or 2", position=position)
        bound += block_max if kind == COMPRESSED else size
        position += BLOCK_HEADER_BYTES
        stored = 1 if kind == RLE else size
        if stored > len(data) - position:
            raise InvalidRecordError(
                f"a zstd block of {stored} bytes, but only {len(data) - position} are left", position=position
            )
        position += stored
    if has_checksum:
        if len(data) - position < CHECKSUM_BYTES:
            raise InvalidRecordError("a zstd frame without its checksum", position=position)
        position += CHECKSUM_BYTES
    if declared > bound:
        raise InvalidRecordError(f"a zstd content size of {declared}, expected at most {bound}", position=start)
    return position, OutputSize(bound, declared)


def _window_descriptor(window_bytes: int) -> int:
    """The smallest window that a header can express and that is at least this large."""
    log = max(MIN_WINDOW_LOG, window_bytes.bit_length() - 1)
    eighths = -(-max(0, window_bytes - (1 << log)) // (1 << (log - 3)))
    return (log - MIN_WINDOW_LOG << 3) + eighths  # eight eighths carry into the next power of two


def _uint32(data: memoryview, position: int) -> int:
    if len(data) - position < UINT32.size:
        raise InvalidRecordError(f"{len(data) - position} bytes, expected a zstd frame", position=position)
    return int(UINT32.unpack_from(data, position)[0])
