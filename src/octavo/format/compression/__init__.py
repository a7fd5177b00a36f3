"""Kafka's four codecs, framed as Kafka frames them: streams ↔ bytes. A codec's library loads with its first use."""

from octavo.format.compression.codec import CODECS, Codec, CodecRow
from octavo.format.compression.dispatch import DEFAULT_LIMIT, compress, decompress, decompress_into, unpacker
from octavo.format.compression.scratch import Scratch

__all__ = [
    "CODECS",
    "DEFAULT_LIMIT",
    "Codec",
    "CodecRow",
    "Scratch",
    "compress",
    "decompress",
    "decompress_into",
    "unpacker",
]
