"""The table of codecs: id in the attributes, name in configs, levels, and where they may be used."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from octavo.errors import EncodingError


class Codec(IntEnum):
    """Bits 0 to 2 of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class CodecRow(NamedTuple):
    """Kafka's rules for one codec. A codec without a `level_config` has no levels."""

    codec: Codec
    name: str
    min_magic: int = 0
    level_config: str | None = None
    min_level: int = 0
    max_level: int = 0
    default_level: int = 0

    def level(self, level: int | None) -> int:
        """The level to compress with; None is the default."""
        if level is None:
            return self.default_level
        if self.level_config is None:
            raise EncodingError(f"{self.name} has no compression levels, found level {level}")
        # gzip's default, -1, is outside its range.
        if level != self.default_level and not self.min_level <= level <= self.max_level:
            is_inside = self.min_level <= self.default_level <= self.max_level
            default = "" if is_inside else f" or the default {self.default_level}"
            expected = f"expected {self.min_level} to {self.max_level}{default}"
            raise EncodingError(f"{self.level_config} is {level}, {expected}")
        return level


CODECS: dict[Codec, CodecRow] = {
    row.codec: row
    for row in (
        CodecRow(Codec.NONE, "none"),
        CodecRow(Codec.GZIP, "gzip", 0, "compression.gzip.level", 1, 9, -1),
        CodecRow(Codec.SNAPPY, "snappy"),
        CodecRow(Codec.LZ4, "lz4", 0, "compression.lz4.level", 1, 17, 9),
        CodecRow(Codec.ZSTD, "zstd", 2, "compression.zstd.level", -131072, 22, 3),
    )
}


def codec_named(name: str) -> Codec:
    """The codec with this name in configs."""
    for row in CODECS.values():
        if row.name == name:
            return row.codec
    raise EncodingError(f"codec {name!r}, expected one of {', '.join(row.name for row in CODECS.values())}")
