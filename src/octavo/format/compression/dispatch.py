"""Compresses and decompresses streams: picks a codec by id and makes the checks common to all codecs."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Protocol

from octavo.errors import ConfigError, DecompressionLimitError, EncodingError, InvalidRecordError
from octavo.format.compression.codec import CODECS, Codec
from octavo.format.compression.scratch import Scratch

if TYPE_CHECKING:
    from typing_extensions import Buffer

# The largest size to which one stream may decompress. Kafka has no such limit. An honest batch of the usual 1 MiB
# (message.max.bytes) stays far below it, and a hostile one (33 KB of zstd can be 1 GiB of zeros) is refused.
DEFAULT_LIMIT = 256 << 20
LIMIT_VARIABLE = "OCTAVO_MAX_UNPACKED_BYTES"


def unpack_limit() -> int:
    """The default limit for the decompressed size of one stream, from the environment variable if it is set."""
    given = os.environ.get(LIMIT_VARIABLE)
    if given is None:
        return DEFAULT_LIMIT
    if not given.isdecimal() or not given.isascii():
        raise ConfigError(f"{LIMIT_VARIABLE} is {given!r}, expected a number of bytes")
    return int(given)


class Unpack(Protocol):
    """Decompresses one stream into the scratch from position `at` on; returns the position after its content.

    Positions in its errors are relative to the stream's first byte.
    """

    def __call__(self, data: memoryview, scratch: Scratch, at: int, *, magic: int, limit: int) -> int: ...


class CodecModule(Protocol):
    """The interface of a codec's module."""

    def compress(self, data: memoryview, *, level: int, magic: int) -> bytes:
        """The stream that Kafka would write for this data, apart from the library's own choices."""

    @property
    def decompress_into(self) -> Unpack: ...


def compress(codec: int, data: Buffer, *, level: int | None = None, magic: int = 2) -> bytes:
    """Compress the data with this codec, framed as Kafka frames it in a batch of this magic."""
    try:
        row = CODECS[Codec(codec)]
    except ValueError:
        raise EncodingError(f"codec {codec}, expected 0 to 4") from None
    if magic < row.min_magic:
        raise EncodingError(f"{row.name} in a batch of magic {magic}, expected magic {row.min_magic} or later")
    level = row.level(level)
    if row.codec is Codec.NONE:
        return bytes(data)
    return _module(row.codec).compress(_bytes_view(data), level=level, magic=magic)


def decompress(
    codec: int, data: Buffer, *, magic: int = 2, limit: int | None = None, scratch: Scratch | None = None
) -> memoryview:
    """The decompressed content of a stream: a view of the scratch's start, valid until the scratch is used again."""
    scratch = Scratch() if scratch is None else scratch
    end = decompress_into(codec, data, scratch, 0, magic=magic, limit=limit)
    return scratch.buffer[:end]


def decompress_into(
    codec: int, data: Buffer, scratch: Scratch, at: int, *, magic: int = 2, limit: int | None = None
) -> int:
    """Decompress a stream into the scratch from position `at` on; returns the position after its content.

    Raises InvalidRecordError for a broken stream or an unknown codec, and DecompressionLimitError for a stream that
    unpacks to more than `limit` bytes; the scratch keeps its content before `at`.
    """
    limit = unpack_limit() if limit is None else limit
    try:
        return unpacker(codec, magic)(_bytes_view(data), scratch, at, magic=magic, limit=limit)
    except DecompressionLimitError as error:
        raise beyond(error, limit) from None


def beyond(error: DecompressionLimitError, limit: int, *, is_fixed: bool = False) -> DecompressionLimitError:
    """A codec's error, extended by the limit and how to change it, unless it is fixed."""
    change = ": to change this limit, give max_unpacked_bytes, --max-unpacked-bytes or OCTAVO_MAX_UNPACKED_BYTES"
    sentence = f"{error.problem}; a batch may unpack to {limit} bytes{', never more' if is_fixed else change}"
    return DecompressionLimitError(sentence, position=error.position, path=error.path)


@cache
def unpacker(codec: int, magic: int) -> Unpack:
    """The codec's own function, for callers that decompress many streams and pass them as views of bytes."""
    if codec == Codec.NONE:
        return _copy_into
    if codec == Codec.ZSTD and magic < CODECS[Codec.ZSTD].min_magic:
        raise InvalidRecordError(f"zstd in a message of magic {magic}, expected gzip, snappy or lz4", position=0)
    return _module(codec).decompress_into


def _copy_into(data: memoryview, scratch: Scratch, at: int, *, magic: int, limit: int) -> int:
    if len(data) > limit:
        raise DecompressionLimitError(f"{len(data)} bytes, expected at most {limit}", position=0)
    end = at + len(data)
    scratch.reserve(end, at)[at:end] = data
    return end


def _bytes_view(data: Buffer) -> memoryview:
    view = memoryview(data)
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")


@cache
def _module(codec: int) -> CodecModule:
    """The codec's module, imported when a stream first needs it."""
    match codec:
        case Codec.GZIP:
            from octavo.format.compression import gzip

            return gzip
        case Codec.SNAPPY:
            from octavo.format.compression import snappy

            return snappy
        case Codec.LZ4:
            from octavo.format.compression import lz4

            return lz4
        case Codec.ZSTD:
            from octavo.format.compression import zstd

            return zstd
    raise InvalidRecordError(f"codec {codec}, expected 0 to 4", position=0)
