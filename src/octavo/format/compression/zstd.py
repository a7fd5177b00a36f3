"""zstd frames: bounded by their block headers, unpacked by cramjam, written without a content size as Kafka does."""

from __future__ import annotations

from cramjam import zstd

from octavo.errors import DecompressionLimitError
from octavo.format.compression.scratch import Scratch
from octavo.format.compression.verdict import invalid
from octavo.format.compression.zstd_frame import output_bound

_decompress = zstd.decompress_into


def compress(data: memoryview, *, level: int, magic: int) -> bytes:
    """One frame without checksum, dictionary or content size; flushed before its end as Kafka does.

    cramjam's one-shot calls are a little faster, and write the content size.
    """
    compressor = zstd.Compressor(level)
    if len(data) == 0:
        return bytes(compressor.finish())
    compressor.compress(bytes(data))
    return b"".join((compressor.flush(), compressor.finish()))


def decompress_into(data: memoryview, scratch: Scratch, at: int, *, magic: int, limit: int) -> int:
    """Unpack any number of frames, skippable ones among them; see CodecModule."""
    bound = output_bound(data)
    if len(data) == 0:
        return at
    room = min(bound, limit)
    out = scratch.reserve(at + room, at)[at : at + room]
    try:
        return at + int(_decompress(data, out))
    except BaseException as error:
        problem = invalid(error, "zstd", 0)
    if room < bound and "whole buffer" in problem.problem:
        raise DecompressionLimitError(f"zstd frames of more than the allowed {limit} bytes", position=0)
    raise problem
