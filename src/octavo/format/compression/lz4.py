"""lz4 frames, read like Kafka's Lz4BlockInputStream and framed like its Lz4BlockOutputStream.

No library's frame decoder behaves like Kafka: in a v0 message the header checksum is wrong on purpose (KAFKA-3160),
content checksums are skipped, and bytes after the end mark are ignored.
"""

from __future__ import annotations

from struct import Struct

from cramjam import lz4

from octavo import kernels
from octavo.errors import DecompressionLimitError, InvalidRecordError
from octavo.format.compression.lz4_block import decompress_block
from octavo.format.compression.scratch import Scratch, fresh_buffer

DESCRIPTOR = Struct("<IBB")  # magic, FLG, BD; then HC, a checksum byte
MAGIC = 0x184D2204
FLG_VERSION_MASK, FLG_VERSION = 0xC0, 0x40
FLG_INDEPENDENT_BLOCKS = 0x20
FLG_BLOCK_CHECKSUM = 0x10
FLG_CONTENT_SIZE = 0x08
FLG_CONTENT_CHECKSUM = 0x04
FLG_RESERVED = 0x03
BD_RESERVED = 0x8F
BLOCK_MAX_BYTES = {code << 4: 1 << (2 * code + 8) for code in (4, 5, 6, 7)}  # by BD: 64 KiB to 4 MiB
CONTENT_SIZE_BYTES = 8

UINT32 = Struct("<I")
STORED = 0x80000000  # in a block's length: the block is not compressed
END_MARK = UINT32.pack(0)

BLOCK_BYTES = 64 * 1024
WRITTEN = DESCRIPTOR.pack(MAGIC, FLG_VERSION | FLG_INDEPENDENT_BLOCKS, 0x40)
HEADER = WRITTEN + bytes([kernels.xxh32(WRITTEN[4:]) >> 8 & 0xFF])
# Producers of v0 messages hashed the magic bytes too, and readers of v0 have skipped the checksum byte ever since.
HEADER_V0 = WRITTEN + bytes([kernels.xxh32(WRITTEN) >> 8 & 0xFF])

FAST_LEVEL = 9  # Kafka's default level selects lz4's fast compressor; any other level selects the thorough one
MIN_THOROUGH_LEVEL = 3  # below this the library uses the fast compressor


def compress(data: memoryview, *, level: int, magic: int) -> bytes:
    """One frame of independent 64 KiB blocks, each stored uncompressed if compression gains nothing."""
    header = HEADER if magic > 0 else HEADER_V0
    blocks = _fast_blocks(data) if level == FAST_LEVEL else _thorough_blocks(data, max(level, MIN_THOROUGH_LEVEL))
    return b"".join((header, *blocks, END_MARK))


def _fast_blocks(data: memoryview) -> list[bytes | memoryview]:
    pieces: list[bytes | memoryview] = []
    for start in range(0, len(data), BLOCK_BYTES):
        block = data[start : start + BLOCK_BYTES]
        out = fresh_buffer(lz4.compress_block_bound(block))
        size = lz4.compress_block_into(block, out, store_size=False)
        pieces += [UINT32.pack(size), out[:size]] if size < len(block) else [UINT32.pack(len(block) | STORED), block]
    return pieces


def _thorough_blocks(data: memoryview, level: int) -> list[bytes | memoryview]:
    """Take the blocks out of a frame: cramjam offers these levels only for frames, and adds a checksum to each block.

    It holds the GIL while it compresses, so it gets one block at a time: other threads run in between.
    """
    compressor = lz4.Compressor(level=level, content_checksum=False, block_linked=False)
    for start in range(0, len(data), BLOCK_BYTES):
        compressor.compress(bytes(data[start : start + BLOCK_BYTES]))
    frame = memoryview(compressor.finish())
    pieces: list[bytes | memoryview] = []
    position = len(HEADER)
    while length := UINT32.unpack_from(frame, position)[0]:
        end = position + UINT32.size + (length & ~STORED)
        pieces.append(frame[position:end])
        position = end + UINT32.size
    return pieces


def decompress_into(data: memoryview, scratch: Scratch, at: int, *, magic: int, limit: int) -> int:
    """Decompress one frame; see `Unpack`."""
    end = len(data)
    stop = at + limit
    if data[: len(HEADER)] == HEADER:  # Kafka's own frames, the usual case: nothing to interpret
        position, block_max, block_checksums, content_checksum = len(HEADER), BLOCK_BYTES, 0, 0
    else:
        position, block_max, block_checksums, content_checksum = _read_descriptor(data, magic)
    while True:
        if end - position < UINT32.size:
            raise InvalidRecordError("an lz4 frame without its end mark", position=position)
        (field,) = UINT32.unpack_from(data, position)
        start = position + UINT32.size
        length = field & ~STORED
        if length == 0:
            break
        if length > block_max:
            raise InvalidRecordError(f"an lz4 block of {length} bytes, expected at most {block_max}", position=position)
        position = start + length
        if position > end:
            raise InvalidRecordError(f"an lz4 block of {length} bytes, but only {end - start} are left", position=start)
        block = data[start:position]
        if field & STORED:
            # A stored block exceeds the limit by no more than its own input.
            scratch.reserve(at + length, at)[at : at + length] = block
            at += length
        else:
            at += decompress_block(block, scratch.reserve(at + block_max, at)[at : at + block_max], start)
        if at > stop:
            raise DecompressionLimitError(f"lz4 blocks of more than the allowed {limit} bytes", position=start)
        if block_checksums:
            position = _check_block(data, block, position)
    if content_checksum and end - start < UINT32.size:  # it must be there, but is never verified
        raise InvalidRecordError("an lz4 frame without its content checksum", position=start)
    return at


def _read_descriptor(data: memoryview, magic: int) -> tuple[int, int, int, int]:
    """Where the blocks begin, their largest size, and whether the blocks and the content have checksums."""
    if len(data) < DESCRIPTOR.size:
        raise InvalidRecordError(f"an lz4 frame of {len(data)} bytes, expected at least 7", position=0)
    found, flags, bd = DESCRIPTOR.unpack_from(data)
    if found != MAGIC:
        raise InvalidRecordError(f"lz4 magic {found:#010x}, expected {MAGIC:#010x}", position=0)
    if flags & FLG_VERSION_MASK != FLG_VERSION or flags & FLG_RESERVED or not flags & FLG_INDEPENDENT_BLOCKS:
        raise InvalidRecordError(
            f"lz4 flags {flags:#04x}, expected version 1, independent blocks, no dictionary", position=4
        )
    if bd & BD_RESERVED or bd not in BLOCK_MAX_BYTES:
        raise InvalidRecordError(f"lz4 block descriptor {bd:#04x}, expected 0x40, 0x50, 0x60 or 0x70", position=5)
    position = DESCRIPTOR.size + (CONTENT_SIZE_BYTES if flags & FLG_CONTENT_SIZE else 0)
    if len(data) <= position:
        raise InvalidRecordError("an lz4 frame that is cut off in its header", position=len(data))
    if magic > 0:
        expected = kernels.xxh32(data[4:position]) >> 8 & 0xFF
        if data[position] != expected:
            raise InvalidRecordError(
                f"lz4 header checksum {data[position]:#04x}, expected {expected:#04x}", position=position
            )
    return position + 1, BLOCK_MAX_BYTES[bd], flags & FLG_BLOCK_CHECKSUM, flags & FLG_CONTENT_CHECKSUM


def _check_block(data: memoryview, block: memoryview, position: int) -> int:
    """Check a block's checksum; returns the position after it."""
    if len(data) - position < UINT32.size:
        raise InvalidRecordError("an lz4 block without its checksum", position=position)
    (found,) = UINT32.unpack_from(data, position)
    expected = kernels.xxh32(block)
    if found != expected:
        raise InvalidRecordError(f"lz4 block checksum {found:#010x}, expected {expected:#010x}", position=position)
    return position + UINT32.size
