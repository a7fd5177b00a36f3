"""zstd frames. Their block headers say how large the content can be; zstandard decompresses it. Like Kafka's frames,
those written here have no content size."""

from __future__ import annotations

import threading

from cramjam import zstd
from zstandard import ZstdDecompressor, ZstdError

from octavo.errors import DecompressionLimitError, InvalidRecordError
from octavo.format.compression.scratch import Scratch, fresh_buffer
from octavo.format.compression.zstd_frame import BLOCK_MAX_BYTES, output_size, without_content_size


class _Context(threading.local):
    """The thread's decompressor: creating one takes longer than decompressing a small batch."""

    def __init__(self) -> None:
        self.decompressor = ZstdDecompressor()


_context = _Context()


def compress(data: memoryview, *, level: int, magic: int) -> bytes:
    """Compress to one frame without content size, checksum or dictionary.

    In cramjam, only `Compressor` can omit the content size, but it copies the data and holds the GIL. So the frame is
    written with the size, and its header is then rewritten.
    """
    out = fresh_buffer(_compress_bound(len(data)))
    size = zstd.compress_into(data, out, level=level)
    return without_content_size(out[:size])


def _compress_bound(size: int) -> int:
    """zstd's own ZSTD_COMPRESSBOUND, plus a header."""
    return size + (size >> 8) + (max(0, BLOCK_MAX_BYTES - size) >> 11) + 64


def decompress_into(data: memoryview, scratch: Scratch, at: int, *, magic: int, limit: int) -> int:
    """Decompress any number of frames, including skippable ones; see `Unpack`."""
    bound, declared = output_size(data)
    room = min(bound, limit)
    out = scratch.reserve(at + room, at)[at : at + room]
    try:
        with _context.decompressor.stream_reader(data, read_across_frames=True) as reader:
            size = reader.readinto(out) if room else 0
            # A full buffer may not be the end: there may be more bytes than allowed, or a checksum to verify.
            is_more = size == room and reader.read(1) != b""
    except ZstdError as error:
        raise InvalidRecordError(f"broken zstd stream: {error}", position=0) from None
    if is_more or declared > limit:
        raise DecompressionLimitError(f"zstd frames of more than the allowed {limit} bytes", position=0)
    return at + size
