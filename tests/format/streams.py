"""Streams that real Kafka wrote, and data to compress."""

from __future__ import annotations

import random
from typing import NamedTuple

from octavo.format.compression import Codec
from tests.golden import strings

RECORD = bytes.fromhex("100000000104763200")  # a v2 record: no key, value v2
V1_MESSAGES = bytes.fromhex(  # with the relative offsets that a v1 wrapper holds
    "0000000000000000000000193e73167401000000018bcfe56800000000016b000000027631"
    "000000000000000100000018820bfd0301000000018bcfe56805ffffffff000000027632"
)


class Golden(NamedTuple):
    """A stream that Kafka 4.3.1 wrote, and its content."""

    codec: Codec
    magic: int
    stream: bytes
    content: bytes


GOLDEN = [
    Golden(Codec.GZIP, 2, bytes.fromhex("1f8b08000000000000ff1360606060642933620000aba8c74509000000"), RECORD),
    Golden(Codec.SNAPPY, 2, bytes.fromhex("82534e415050590000000001000000010000000b0920100000000104763200"), RECORD),
    Golden(Codec.LZ4, 2, bytes.fromhex("04224d186040820900008010000000010476320000000000"), RECORD),
    Golden(Codec.ZSTD, 2, bytes.fromhex("28b52ffd0058480000100000000104763200010000"), RECORD),
    Golden(
        Codec.GZIP,
        1,
        bytes.fromhex(
            "1f8b08000000000000ff6360800349bb62b112462083b1fbfcd30c9008633690602a33842a00c9493471ff65862b62fd0f0460"
            "3546003dc95b2449000000"
        ),
        V1_MESSAGES,
    ),
    Golden(
        Codec.SNAPPY,
        1,
        bytes.fromhex(
            "82534e415050590000000001000000010000003c490000190134193e73167401000000018bcfe56801181c016b000000027631"
            "010c01181c00000018820bfd03010905252805ffffffff000000027632"
        ),
        V1_MESSAGES,
    ),
    Golden(
        Codec.LZ4,
        1,
        bytes.fromhex(
            "04224d186040823a00000016000100e0193e73167401000000018bcfe568180080016b0000000276310c000018008500000018"
            "820bfd032500b005ffffffff00000002763200000000"
        ),
        V1_MESSAGES,
    ),
    Golden(
        Codec.LZ4,
        0,
        bytes.fromhex(
            "04224d1860401a3400000012000100910a00000011615054270f0081016b0000000276310d00f00800000b00000010d5960a78"
            "0000ffffffff00000002763200000000"
        ),
        strings.MESSAGES["v0"],
    ),
]

PACKING = [codec for codec in Codec if codec is not Codec.NONE]
# Around the block sizes of snappy and lz4, and enough for several blocks of each.
SIZES = [0, 1, 32767, 32768, 32769, 65535, 65536, 65537, 300_000]


def compressible(size: int) -> bytes:
    """Text that resembles small JSON records, the same in every run."""
    chance = random.Random(size)
    text = bytearray()
    while len(text) < size:
        text += b'{"user": "user-%d", "page": "/shelf/%d"}' % (chance.randrange(5000), chance.randrange(300))
    return bytes(text[:size])


def incompressible(size: int) -> bytes:
    return random.Random(size).randbytes(size)


def mutate(stream: bytes, chance: random.Random) -> bytes:
    """The stream with a few bytes flipped, replaced, removed, inserted or repeated, or with its end cut off; often near
    its beginning."""
    mutant = bytearray(stream)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        at = chance.randrange(len(mutant) + 1 if chance.random() < 0.5 else min(len(mutant), 30) + 1)
        match chance.randrange(6):
            case 0:
                mutant[at : at + 1] = bytes(byte ^ 1 << chance.randrange(8) for byte in mutant[at : at + 1])
            case 1:
                mutant[at : at + 1] = bytes([chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))])
            case 2:
                del mutant[at : at + chance.choice((1, 2, 4))]
            case 3:
                mutant[at:at] = chance.randbytes(chance.choice((1, 2, 4)))
            case 4:
                del mutant[at:]
            case _:
                mutant += mutant[at : at + 30]
    return bytes(mutant)
