"""gzip members (RFC 1952), read like Java's GZIPInputStream and written like its GZIPOutputStream."""

from __future__ import annotations

import zlib
from struct import Struct
from types import ModuleType

from octavo.errors import DecompressionLimitError, InvalidRecordError
from octavo.format.compression.scratch import Scratch

inflate: ModuleType
try:
    from isal import isal_zlib as inflate  # twice as fast as zlib, with the same interface
except ImportError:
    inflate = zlib
InflateError: type[Exception] = inflate.error

MAGIC = b"\x1f\x8b"
DEFLATE = 8
FHCRC, FEXTRA, FNAME, FCOMMENT = 2, 4, 8, 16
FIXED = Struct("<2sBBIBB")  # magic, method, flags, modification time, extra flags, operating system
UINT16 = Struct("<H")
TRAILER = Struct("<II")  # CRC-32 of the content, its size modulo 2^32
HEADER = FIXED.pack(MAGIC, DEFLATE, 0, 0, 0, 0xFF)  # like Java 16 and later; earlier versions wrote operating system 0
# Java looks for another member only if a trailer, a header and the next trailer leave a byte for content.
MIN_MEMBER_BYTES = FIXED.size + TRAILER.size + 1

RAW_DEFLATE = -15
MAX_RATIO = 1032  # the best that deflate can do
FIRST_FEED_BYTES = 1024


def compress(data: memoryview, *, level: int, magic: int) -> bytes:
    """Compress to one member, always with zlib: Kafka's levels are zlib's, and Java writes zlib's bytes."""
    deflater = zlib.compressobj(level, zlib.DEFLATED, RAW_DEFLATE)
    trailer = TRAILER.pack(inflate.crc32(data), len(data) & 0xFFFFFFFF)
    return b"".join((HEADER, deflater.compress(data), deflater.flush(), trailer))


def decompress_into(data: memoryview, scratch: Scratch, at: int, *, magic: int, limit: int) -> int:
    """Decompress all members; see `Unpack`. As in Java, bytes after a member that are not a header are ignored."""
    stop = at + limit
    position, at = _read_member(data, _read_header(data, 0), len(data), scratch, at, stop)
    while len(data) - position >= MIN_MEMBER_BYTES:
        try:
            start = _read_header(data, position)
        except InvalidRecordError:
            break
        position, at = _read_member(data, start, FIRST_FEED_BYTES, scratch, at, stop)
    return at


def _read_header(data: memoryview, position: int) -> int:
    """Where the member's compressed bytes begin."""
    if len(data) - position < FIXED.size:
        raise InvalidRecordError(f"{len(data) - position} bytes, expected a gzip header of 10", position=position)
    magic, method, flags, *_ = FIXED.unpack_from(data, position)
    if magic != MAGIC or method != DEFLATE:
        raise InvalidRecordError(
            f"{bytes(data[position : position + 3]).hex()}, expected a gzip header 1f8b08", position=position
        )
    end = position + FIXED.size
    if flags & FEXTRA:
        end += UINT16.size + _uint16(data, end)
        if end > len(data):
            raise InvalidRecordError("a gzip member that is cut off in its header", position=len(data))
    for flag in (FNAME, FCOMMENT):
        if flags & flag:
            end = _after_zero(data, end)
    if flags & FHCRC:
        found, expected = _uint16(data, end), inflate.crc32(data[position:end]) & 0xFFFF
        if found != expected:
            raise InvalidRecordError(f"gzip header checksum {found:#06x}, expected {expected:#06x}", position=end)
        end += UINT16.size
    return end


def _uint16(data: memoryview, position: int) -> int:
    if len(data) - position < UINT16.size:
        raise InvalidRecordError("a gzip member that is cut off in its header", position=len(data))
    return int(UINT16.unpack_from(data, position)[0])


def _after_zero(data: memoryview, position: int) -> int:
    for at in range(position, len(data)):
        if data[at] == 0:
            return at + 1
    raise InvalidRecordError("a gzip member that is cut off in its header", position=len(data))


def _read_member(data: memoryview, start: int, feed: int, scratch: Scratch, at: int, stop: int) -> tuple[int, int]:
    """Inflate and check one member; returns the positions after it in the input and in the scratch.

    The inflater copies input it does not need, so all members but the first, which is usually the only one, are fed in
    growing pieces. The output is requested in one piece if the last trailer gives its size.
    """
    inflater = inflate.decompressobj(RAW_DEFLATE)
    begin, crc, position = at, 0, start
    piece: memoryview | bytes = b""
    room = _first_guess(data)
    while not inflater.eof:
        if not piece:
            if position >= len(data):
                raise InvalidRecordError("a gzip member that is cut off in its content", position=len(data))
            piece = data[position : position + feed]
            position += len(piece)
            feed *= 2
        try:
            # One more byte than allowed distinguishes "just full" from "too much".
            out = inflater.decompress(piece, min(room, stop - at) + 1)
        except InflateError as error:
            raise InvalidRecordError(f"broken gzip stream: {error}", position=start) from None
        except MemoryError:
            raise DecompressionLimitError(f"not enough memory to unpack {room} bytes", position=start) from None
        end = at + len(out)
        if end > stop:
            sentence = f"a gzip member of more than the allowed {stop - begin} bytes"
            raise DecompressionLimitError(sentence, position=start)
        scratch.reserve(end, at)[at:end] = out
        crc = inflate.crc32(out, crc)
        at = end
        room = max(room, at - begin)
        piece = inflater.unconsumed_tail
    position -= len(inflater.unused_data)
    if at == begin:
        _check_empty(data[start:position], start)
    return _check_trailer(data, position, crc, at - begin), at


def _check_empty(stream: memoryview, position: int) -> None:
    """Have zlib confirm that a stream is empty: isal reports some broken streams as empty, and zeros then pass as their
    trailer."""
    judge = zlib.decompressobj(RAW_DEFLATE)
    try:
        is_empty = judge.decompress(stream, 1) == b"" and judge.eof
    except zlib.error as error:
        raise InvalidRecordError(f"broken gzip stream: {error}", position=position) from None
    if not is_empty:
        raise InvalidRecordError("broken gzip stream: it ends before its last block", position=position)


def _first_guess(data: memoryview) -> int:
    """The size in the last trailer, but no more than deflate's best ratio allows."""
    _, size = TRAILER.unpack_from(data, len(data) - TRAILER.size)
    return int(min(size, MAX_RATIO * len(data)))


def _check_trailer(data: memoryview, position: int, crc: int, size: int) -> int:
    if len(data) - position < TRAILER.size:
        raise InvalidRecordError("a gzip member without its trailer", position=position)
    found_crc, found_size = TRAILER.unpack_from(data, position)
    if found_crc != crc or found_size != size & 0xFFFFFFFF:
        raise InvalidRecordError(
            f"gzip trailer with CRC {found_crc:#010x} and size {found_size}, expected {crc:#010x} and {size}",
            position=position,
        )
    return position + TRAILER.size
