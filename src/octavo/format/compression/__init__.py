"""Kafka's four codecs, with Kafka's framing. A codec's library is loaded when first used."""

from octavo.format.compression.codec import CODECS, Codec, CodecRow
from octavo.format.compression.dispatch import (
    DEFAULT_LIMIT,
    LIMIT_VARIABLE,
    beyond,
    compress,
    decompress,
    decompress_into,
    unpack_limit,
    unpacker,
)
from octavo.format.compression.scratch import Scratch

__all__ = [
    "CODECS",
    "DEFAULT_LIMIT",
    "LIMIT_VARIABLE",
    "Codec",
    "CodecRow",
    "Scratch",
    "beyond",
    "compress",
    "decompress",
    "decompress_into",
    "unpack_limit",
    "unpacker",
]
