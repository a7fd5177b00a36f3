"""snappy in xerial's framing: a header, then chunks, each an int32 length and one raw snappy block."""

from __future__ import annotations

from struct import Struct

from cramjam import snappy

from octavo.errors import DecompressionLimitError, InvalidRecordError
from octavo.format.compression.scratch import Scratch, fresh_buffer
from octavo.format.compression.verdict import invalid

MAGIC = b"\x82SNAPPY\x00"
VERSIONS = Struct(">ii")  # version, minimum compatible version
LENGTH = Struct(">i")
HEADER = MAGIC + VERSIONS.pack(1, 1)
BLOCK_BYTES = 32 * 1024  # the data in a chunk of Kafka's writer; a reader accepts larger ones
MAX_CHUNK_BYTES = 512 * 1024 * 1024
# A copy element of 3 bytes yields 64 bytes, so no block can expand further.
MAX_RATIO = 22
# In place of a chunk's length, a concatenated stream may begin.
(CONCATENATED,) = LENGTH.unpack_from(MAGIC)

_decompress_block, _decompressed_size = snappy.decompress_raw_into, snappy.decompress_raw_len


def compress(data: memoryview, *, level: int, magic: int) -> bytes:
    """A header and chunks for 32 KiB of data each, the last one for the rest; only the header if there is no data."""
    pieces: list[bytes | memoryview] = [HEADER]
    for start in range(0, len(data), BLOCK_BYTES):
        block = data[start : start + BLOCK_BYTES]
        out = fresh_buffer(snappy.compress_raw_max_len(block))
        size = snappy.compress_raw_into(block, out)
        pieces += [LENGTH.pack(size), out[:size]]
    return b"".join(pieces)


def decompress_into(data: memoryview, scratch: Scratch, at: int, *, magic: int, limit: int) -> int:
    """Decompress like snappy-java's SnappyInputStream; see `Unpack`."""
    end = len(data)
    stop = at + limit
    if end == 0:
        raise InvalidRecordError("an empty snappy stream, expected a header or a block", position=0)
    if end < len(HEADER) or data[: len(MAGIC)] != MAGIC:
        # Written without framing: the whole input is one block.
        return _unpack_block(data, 0, scratch, at, stop)
    position = len(HEADER)  # the first header's versions are ignored
    while end - position >= LENGTH.size:  # fewer bytes are a clean end
        (length,) = LENGTH.unpack_from(data, position)
        start = position + LENGTH.size
        if 0 <= length <= end - start and length <= MAX_CHUNK_BYTES:
            position = start + length
            at = _unpack_block(data[start:position], start, scratch, at, stop)
        elif length == CONCATENATED:
            position = _read_next_header(data, position)
        elif not 0 <= length <= MAX_CHUNK_BYTES:
            expected = f"expected 0 to {MAX_CHUNK_BYTES}"
            raise InvalidRecordError(f"a snappy chunk of {length} bytes, {expected}", position=position)
        else:
            left = end - start
            raise InvalidRecordError(f"a snappy chunk of {length} bytes, but only {left} are left", position=position)
    return at


def _read_next_header(data: memoryview, position: int) -> int:
    """The position after a concatenated stream's header.

    After a half-right magic snappy-java stops or continues, depending on its caller's buffer; here that is an error.
    """
    header = data[position : position + len(HEADER)]
    if len(header) < len(HEADER) or header[: len(MAGIC)] != MAGIC:
        raise InvalidRecordError("a broken header of a concatenated snappy stream", position=position)
    version, _ = VERSIONS.unpack_from(header, len(MAGIC))
    if version < 1:
        raise InvalidRecordError(f"snappy framing version {version}, expected 1 or later", position=position)
    return position + len(HEADER)


def _unpack_block(block: memoryview, start: int, scratch: Scratch, at: int, stop: int) -> int:
    # The library can read sizes of up to three bytes itself, and Kafka never writes longer ones.
    size = _decompressed_size(block) if len(block) > 2 and block[2] < 0x80 else _block_size(block, start)
    if size > MAX_RATIO * len(block):
        raise InvalidRecordError(f"a snappy block of {len(block)} bytes that claims to hold {size}", position=start)
    block_end = at + size
    if block_end > stop:
        problem = f"a snappy block of {size} bytes, but only {stop - at} are allowed"
        raise DecompressionLimitError(problem, position=start)
    out = scratch.reserve(block_end, at)[at:block_end]
    try:
        found = _decompress_block(block, out)
    except BaseException as error:
        raise invalid(error, "snappy", start) from None
    if found != size:
        raise InvalidRecordError(
            f"a snappy block that unpacks to {found} bytes, not to the {size} that it declares", position=start
        )
    return block_end


def _block_size(block: memoryview, position: int) -> int:
    """A block's decompressed size, at its start: an unsigned varint of 32 bits, at most 5 bytes."""
    size = shift = 0
    for byte in block[:5]:
        size |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    else:
        raise InvalidRecordError("a snappy block without its size, expected 1 to 5 bytes", position=position)
    if size > 0xFFFFFFFF:
        raise InvalidRecordError(
            f"a snappy block of {size} bytes, expected a size of at most 32 bits", position=position
        )
    return size
