"""Real Kafka's streams and ours: each reads what the other wrote, and both refuse the same mutants. (We refuse a few
more, which `STRICTER` lists.)"""

from __future__ import annotations

import random
from struct import pack
from types import ModuleType

import cramjam
import numpy as np
import pytest

from octavo import kernels
from octavo.errors import CorruptionError
from octavo.format.compression import CODECS, Codec, Scratch, compress, decompress
from tests.format.streams import PACKING, SIZES, compressible, incompressible, mutate

pytestmark = pytest.mark.kafka

LEVELS: dict[Codec, list[int | None]] = {
    Codec.GZIP: [None, -1, 1, 4, 9],
    Codec.SNAPPY: [None],
    Codec.LZ4: [None, 1, 3, 9, 12, 17],
    Codec.ZSTD: [None, -131072, -3, 0, 1, 9, 19],
}


class KafkaStreams:
    """org.apache.kafka.common.compress, from bytes to bytes."""

    def __init__(self, jvm: ModuleType) -> None:
        self._jvm = jvm
        self._compression = jvm.JClass("org.apache.kafka.common.compress.Compression")
        self._output = jvm.JClass("org.apache.kafka.common.utils.ByteBufferOutputStream")
        self._buffers = jvm.JClass("org.apache.kafka.common.utils.BufferSupplier").create()

    def compress(self, codec: Codec, data: bytes, level: int | None, magic: int) -> bytes:
        builder = getattr(self._compression, CODECS[codec].name)()
        if level is not None:
            builder = builder.level(level)
        out = self._output(2 * len(data) + 100)
        stream = builder.build().wrapForOutput(out, self._jvm.JByte(magic))
        stream.write(self._array(data))
        stream.close()
        buffer = out.buffer().flip()
        return bytes(np.array(buffer.array(), np.int8)[: buffer.limit()])

    def decompress(self, codec: Codec, data: bytes, magic: int) -> bytes | None:
        """What the stream holds; None if Kafka refuses it."""
        buffer = self._jvm.java.nio.ByteBuffer.wrap(self._array(data))
        compression = getattr(self._compression, CODECS[codec].name)().build()
        try:
            stream = compression.wrapForInput(buffer, self._jvm.JByte(magic), self._buffers)
            return bytes(np.array(stream.readAllBytes(), np.int8))
        except self._jvm.JException:
            return None

    def _array(self, data: bytes) -> object:
        return self._jvm.JArray(self._jvm.JByte)(np.frombuffer(data, np.int8))


@pytest.fixture(scope="module")
def kafka(jvm: ModuleType) -> KafkaStreams:
    return KafkaStreams(jvm)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("codec", PACKING)
def test_each_reads_the_others_streams(codec: Codec, size: int, kafka: KafkaStreams) -> None:
    for data in (compressible(size), incompressible(size), bytes(size)):
        for magic in range(CODECS[codec].min_magic, 3):
            assert kafka.decompress(codec, compress(codec, data, magic=magic), magic) == data
            assert decompress(codec, kafka.compress(codec, data, None, magic), magic=magic) == data


@pytest.mark.parametrize(("codec", "level"), [(codec, level) for codec in PACKING for level in LEVELS[codec]])
def test_each_reads_the_others_levels(codec: Codec, level: int | None, kafka: KafkaStreams) -> None:
    data = compressible(100_000) + incompressible(70_000)
    assert kafka.decompress(codec, compress(codec, data, level=level), 2) == data
    assert decompress(codec, kafka.compress(codec, data, level, 2)) == data


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("level", [None, *range(3, 18)])
def test_lz4_is_written_to_the_same_bytes(level: int | None, magic: int, kafka: KafkaStreams) -> None:
    data = compressible(70_000) + incompressible(70_000)
    assert compress(Codec.LZ4, data, level=level, magic=magic) == kafka.compress(Codec.LZ4, data, level, magic)


def streams(codec: Codec) -> list[bytes]:
    """Streams to mutate: as written, several in a row, with a tail, and with the options that readers know."""
    found = [compress(codec, data) for data in (b"", b"a", compressible(60), compressible(400), bytes(70_000))]
    found += [first + second for first in found[:4] for second in found[1:4]]
    found += [stream + b"and more" * times for stream in found[2:4] for times in (1, 4)]
    match codec:
        case Codec.GZIP:
            extra = b"\x1f\x8b\x08\x1c" + bytes(6) + b"\x03\0abcname\0comment\0"
            found += [extra + found[3][10:], found[2] + extra + found[3][10:]]
        case Codec.SNAPPY:
            found += [bytes(cramjam.snappy.compress_raw(data)) for data in (b"a", compressible(100))]
        case Codec.LZ4:
            body = bytes(cramjam.lz4.compress_block(compressible(200), store_size=False))
            block, stored = pack("<I", len(body)) + body, pack("<I", 0x80000006) + b"octavo"
            found += [
                lz4_descriptor(0x70) + block + pack("<I", kernels.xxh32(body)) + bytes(4),
                lz4_descriptor(0x6C, b"anything") + block + stored + bytes(4) + b"1234",
            ]
        case Codec.ZSTD:
            skippable = pack("<II", 0x184D2A53, 5) + b"what?"
            found += [bytes(cramjam.zstd.compress(compressible(300))), skippable + found[2], found[2] + skippable]
            # With a content size and, as Kafka writes it, an empty last block; 6 raw bytes before it, or none.
            sized, octavo, last = bytes.fromhex("28b52ffd20"), b"\x30\0\0octavo", b"\1\0\0"
            found += [sized + b"\6" + octavo + last, sized + b"\7" + octavo + last, sized + b"\0" + last]
    return found


def lz4_descriptor(flags: int, content_size: bytes = b"") -> bytes:
    hashed = bytes([flags, 0x50]) + content_size
    return bytes.fromhex("04224d18") + hashed + bytes([kernels.xxh32(hashed) >> 8 & 0xFF])


# Where Kafka continues, or stops without an error, depending on its own buffer: docs/formats/compression.md.
STRICTER = {
    Codec.SNAPPY: ("broken header of a concatenated",),
    Codec.ZSTD: (
        "are left",
        "without its",
        "cut off in its header",
        "expected a zstd frame",
        "expected bit 3",
        "content size",
    ),
}


@pytest.mark.parametrize("codec", PACKING)
def test_both_refuse_the_same_mutants(codec: Codec, kafka: KafkaStreams) -> None:
    chance = random.Random(int(codec))
    originals = streams(codec)
    scratch = Scratch()
    accepted = 0
    for number in range(1500):
        mutant = originals[number] if number < len(originals) else mutate(chance.choice(originals), chance)
        magic = 2 if codec is not Codec.LZ4 else number % 3
        theirs = kafka.decompress(codec, mutant, magic)
        try:
            ours = bytes(decompress(codec, mutant, magic=magic, scratch=scratch))
            accepted += 1
        except CorruptionError as error:
            if theirs is None or any(problem in error.problem for problem in STRICTER.get(codec, ())):
                continue
            raise AssertionError(f"Kafka reads {mutant.hex()}") from error
        assert ours == theirs, mutant.hex()
    assert accepted > 100
