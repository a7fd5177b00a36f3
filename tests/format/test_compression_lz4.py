"""lz4 frames: what Kafka writes, and every rule of its reader."""

from __future__ import annotations

from struct import pack, unpack_from

import cramjam
import pytest

from octavo import kernels
from octavo.errors import DecompressionLimitError, InvalidRecordError
from octavo.format.compression import Codec, Scratch, compress, decompress
from octavo.format.compression import lz4_block as block_module
from tests.format.streams import compressible, incompressible

MAGIC = bytes.fromhex("04224d18")
HEADER = MAGIC + bytes.fromhex("604082")
END = bytes(4)
STORED = 0x80000000
BLOCK_CHECKSUM, CONTENT_SIZE, CONTENT_CHECKSUM = 0x10, 0x08, 0x04


def unpack(stream: bytes, magic: int = 2, limit: int = 1 << 24) -> bytes:
    return bytes(decompress(Codec.LZ4, stream, magic=magic, limit=limit))


def packed(data: bytes) -> bytes:
    return bytes(cramjam.lz4.compress_block(data, store_size=False))


def block(data: bytes) -> bytes:
    return pack("<I", len(packed(data))) + packed(data)


def stored(data: bytes) -> bytes:
    return pack("<I", len(data) | STORED) + data


def header(flags: int = 0x60, bd: int = 0x40, content_size: bytes = b"") -> bytes:
    descriptor = bytes([flags, bd]) + content_size
    return MAGIC + descriptor + bytes([kernels.xxh32(descriptor) >> 8 & 0xFF])


def lengths(stream: bytes) -> list[int]:
    """The length fields of a frame that has no checksums, with the end mark."""
    position, found = 7, list[int]()
    while not found or found[-1]:
        found += unpack_from("<I", stream, position)
        position += 4 + (found[-1] & ~STORED)
    assert position == len(stream)
    return found


@pytest.mark.parametrize("level", [None, 1, 9, 12])
def test_frames_are_written_as_kafka_writes_them(level: int | None) -> None:
    data = compressible(65536) + incompressible(65536) + compressible(100)
    stream = compress(Codec.LZ4, data, level=level)
    assert stream[:7] == HEADER
    first, second, third, end = lengths(stream)
    assert first < 65536  # compressed
    assert second == 65536 | STORED  # nothing gained
    assert third < 100
    assert end == 0


def test_a_block_that_would_not_get_smaller_is_stored() -> None:
    assert compress(Codec.LZ4, b"octavo") == HEADER + stored(b"octavo") + END


def test_no_data_is_a_frame_without_blocks() -> None:
    assert compress(Codec.LZ4, b"") == HEADER + END


def test_level_9_is_fast_and_each_other_level_thorough() -> None:
    data = compressible(60_000)
    sizes = {level: len(compress(Codec.LZ4, data, level=level)) for level in (1, 8, 9, 10)}
    assert sizes[9] > max(sizes[1], sizes[8], sizes[10])
    assert compress(Codec.LZ4, data) == compress(Codec.LZ4, data, level=9)


def test_v0_has_the_wrong_header_checksum_of_its_producers() -> None:
    assert compress(Codec.LZ4, b"octavo", magic=0)[:7] == MAGIC + bytes.fromhex("60401a")
    assert compress(Codec.LZ4, b"octavo", magic=1)[:7] == HEADER


@pytest.mark.parametrize("checksum", [0x00, 0x1A, 0x82, 0xFF])
def test_the_header_checksum_is_verified_from_v1_on(checksum: int) -> None:
    stream = HEADER[:6] + bytes([checksum]) + stored(b"octavo") + END
    assert unpack(stream, magic=0) == b"octavo"
    for magic in (1, 2):
        if checksum == 0x82:
            assert unpack(stream, magic=magic) == b"octavo"
        else:
            with pytest.raises(InvalidRecordError, match="expected 0x82") as caught:
                unpack(stream, magic=magic)
            assert caught.value.position == 6


def test_other_magic_is_refused() -> None:
    with pytest.raises(InvalidRecordError, match="lz4 magic 0x184d2205, expected 0x184d2204"):
        unpack(b"\x05" + HEADER[1:] + END)


@pytest.mark.parametrize("flags", [0x61, 0x62, 0x40, 0x20, 0xA0, 0xE0, 0x00])
def test_flags_that_kafka_does_not_know_are_refused(flags: int) -> None:
    with pytest.raises(InvalidRecordError, match="lz4 flags") as caught:
        unpack(header(flags) + stored(b"octavo") + END)
    assert caught.value.position == 4


@pytest.mark.parametrize("bd", [0x00, 0x30, 0x41, 0x48, 0xC0, 0xF0, 0x80])
def test_a_block_descriptor_that_kafka_does_not_know_is_refused(bd: int) -> None:
    with pytest.raises(InvalidRecordError, match="lz4 block descriptor") as caught:
        unpack(header(bd=bd) + stored(b"octavo") + END)
    assert caught.value.position == 5


@pytest.mark.parametrize(("bd", "largest"), [(0x40, 1 << 16), (0x50, 1 << 18), (0x60, 1 << 20), (0x70, 1 << 22)])
def test_blocks_up_to_the_descriptors_size_are_accepted(bd: int, largest: int) -> None:
    data = bytes(largest)
    assert unpack(header(bd=bd) + stored(data) + block(data) + END) == data * 2
    with pytest.raises(InvalidRecordError, match=f"block of {largest + 1} bytes, expected at most {largest}"):
        unpack(header(bd=bd) + stored(data + b"\0") + END)
    with pytest.raises(InvalidRecordError, match="broken lz4 stream"):
        unpack(header(bd=bd) + block(data + b"\0") + END)


@pytest.mark.parametrize("magic", [0, 2])
def test_a_content_size_is_skipped_but_hashed(magic: int) -> None:
    stream = header(0x60 | CONTENT_SIZE, content_size=b"anything") + stored(b"octavo") + END
    assert unpack(stream, magic) == b"octavo"
    with pytest.raises(InvalidRecordError, match="cut off in its header"):
        unpack(stream[:14], magic)


@pytest.mark.parametrize("piece", [block(b"octavo" * 20), stored(b"octavo" * 20)])
def test_block_checksums_are_verified(piece: bytes) -> None:
    start = header(0x60 | BLOCK_CHECKSUM) + piece
    right = kernels.xxh32(piece[4:])
    assert unpack(start + pack("<I", right) + END) == b"octavo" * 20
    with pytest.raises(InvalidRecordError, match="block checksum") as caught:
        unpack(start + pack("<I", right ^ 1) + END)
    assert caught.value.position == len(start)
    with pytest.raises(InvalidRecordError, match="block without its checksum"):
        unpack(start + b"\0\0\0")


def test_a_content_checksum_has_to_be_there_and_is_not_verified() -> None:
    stream = header(0x60 | CONTENT_CHECKSUM) + stored(b"octavo") + END
    assert unpack(stream + b"1234") == b"octavo"
    with pytest.raises(InvalidRecordError, match="without its content checksum"):
        unpack(stream + b"123")


@pytest.mark.parametrize("end", [END, pack("<I", STORED)])
def test_bytes_after_the_end_mark_are_ignored(end: bytes) -> None:
    assert unpack(HEADER + stored(b"octavo") + end + b"and more") == b"octavo"


def test_a_frame_without_an_end_mark_is_refused() -> None:
    with pytest.raises(InvalidRecordError, match="without its end mark"):
        unpack(HEADER + stored(b"octavo"))


def test_a_block_beyond_the_end_is_refused() -> None:
    with pytest.raises(InvalidRecordError, match="block of 6 bytes, but only 5 are left"):
        unpack(HEADER + stored(b"octavo")[:-1])


def test_a_block_may_hold_nothing() -> None:
    assert unpack(HEADER + pack("<I", 1) + b"\0" + stored(b"octavo") + END) == b"octavo"


def test_a_match_from_before_the_block_is_refused() -> None:
    broken = bytes.fromhex("10 6f 0200 50") + b"ctavo"
    with pytest.raises(InvalidRecordError, match="broken lz4 stream") as caught:
        unpack(HEADER + stored(b"octavo") + pack("<I", len(broken)) + broken + END)
    assert caught.value.position == 7 + 4 + 6 + 4


def test_a_broken_block_is_not_read_as_one_with_a_size_before_it() -> None:
    """cramjam tries that by itself, and would return bytes that are not content of the block."""
    inner = packed(b"octavo, octavo, octavo, octavo")
    broken = pack("<I", 100) + inner
    out = bytearray(65536)
    assert cramjam.lz4.decompress_block_into(broken, out, 65536) == 30  # the trap is there
    with pytest.raises(InvalidRecordError, match="broken lz4 stream"):
        unpack(HEADER + pack("<I", len(broken)) + broken + END)


@pytest.mark.parametrize(
    ("literals", "twice"),
    [
        ("ff0000 00 0000 6f", True),  # a match at offset 0 could follow: the library accepts it
        ("ff0000 10 6f 0100 6f", True),  # a match within the literals before it
        ("ff0000 10 6f 0200 6f", False),  # a match from before the beginning: no block begins there
        ("ff0000 f0 6f 6f6f", True),  # a long run of literals
        ("ff0000 40 6f6f6f6f", True),  # the last run
        ("ff0001 00 0000 6f", False),  # a size beyond the largest block
        ("000000 00 0000 6f", True),
        ("ff0000", False),  # too short for a size and a block
    ],
)
def test_a_good_block_that_might_be_one_with_a_size_is_read_as_it_is(
    literals: str, twice: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_twice = []
    original = block_module._decompress_as_frame

    def counting(*arguments: memoryview) -> int:
        looked_twice.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(block_module, "_decompress_as_frame", counting)
    data = bytes.fromhex(literals)
    body = bytes([len(data) << 4]) + data
    assert unpack(HEADER + pack("<I", len(body)) + body + END) == data
    assert bool(looked_twice) is twice


@pytest.mark.parametrize("piece", [block(bytes(60_000)), stored(bytes(60_000))])
def test_the_limit_counts_all_blocks(piece: bytes) -> None:
    stream = HEADER + piece * 3 + END
    assert unpack(stream, limit=180_000) == bytes(180_000)
    scratch = Scratch()
    with pytest.raises(DecompressionLimitError) as caught:
        decompress(Codec.LZ4, stream, limit=179_999, scratch=scratch)
    assert caught.value.position == 7 + 2 * len(piece) + 4
