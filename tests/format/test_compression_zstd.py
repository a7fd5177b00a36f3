"""zstd frames: written without a content size, bounded before they are decompressed, read one after another."""

from __future__ import annotations

from struct import pack

import cramjam
import pytest
from zstandard import ZstdCompressor

from octavo.errors import DecompressionLimitError, InvalidRecordError
from octavo.format.compression import Codec, Scratch, compress, decompress
from octavo.format.compression.zstd_frame import _window_descriptor, output_size
from tests.format.streams import SIZES, compressible, incompressible

MAGIC = bytes.fromhex("28b52ffd")
# Made by libzstd with a checksum: b"octavo" * 10 without and with the content size.
CHECKED = bytes.fromhex("28b52ffd0400650000306f637461766f0100cb598a460daa65")
CHECKED_SIZED = bytes.fromhex("28b52ffd243c650000306f637461766f0100cb598a460daa65")
SKIPPABLE = pack("<II", 0x184D2A57, 5) + b"what?"
LAST, RAW, RLE, COMPRESSED, RESERVED = 1, 0, 2, 4, 6


def unpack(stream: bytes, limit: int = 1 << 20) -> bytes:
    return bytes(decompress(Codec.ZSTD, stream, limit=limit))


def block(flags: int, size: int, content: bytes) -> bytes:
    return (size << 3 | flags).to_bytes(3, "little") + content


def frame(*blocks: bytes, window: int = 0x58) -> bytes:
    return MAGIC + bytes([0, window]) + b"".join(blocks)


@pytest.mark.parametrize("make", [compressible, incompressible])
@pytest.mark.parametrize("size", [*SIZES, 255, 256, 65791, 65792, 3_000_000])
def test_frames_carry_no_content_size_no_checksum_and_no_dictionary(size: int, make: type[bytes]) -> None:
    data = make(size)
    for level in (1, 3, 5) if size < 1_000_000 else (1,):
        stream = compress(Codec.ZSTD, data, level=level)
        assert stream.startswith(MAGIC + b"\0")
        assert decompress(Codec.ZSTD, stream) == data


@pytest.mark.parametrize(
    "window", [0, 1, 1023, 1024, 1025, 1152, 1153, 2047, 2048, 2049, 65791, (1 << 27) - 1, 1 << 27]
)
def test_a_window_is_written_as_the_next_one_that_a_header_can_express(window: int) -> None:
    def described(descriptor: int) -> int:
        return (1 << 10 + (descriptor >> 3)) * (8 + (descriptor & 7)) // 8

    descriptor = _window_descriptor(window)
    assert described(descriptor) >= window
    assert descriptor == 0 or described(descriptor - 1) < window


def test_a_frame_with_its_content_size_is_read() -> None:
    data = compressible(100_000)
    assert unpack(bytes(cramjam.zstd.compress(data))) == data


def test_checksums_are_verified() -> None:
    for stream in (CHECKED, CHECKED_SIZED):
        assert unpack(stream) == b"octavo" * 10
        with pytest.raises(InvalidRecordError):
            unpack(stream[:-1] + b"\0")
        with pytest.raises(InvalidRecordError, match="without its checksum"):
            unpack(stream[:-1])


def test_the_checksum_after_content_that_fills_the_buffer_is_verified() -> None:
    content = incompressible(1000)
    stream = ZstdCompressor(write_checksum=True, write_content_size=False).compress(content)
    assert output_size(memoryview(stream)) == (len(content), 0)
    assert unpack(stream) == content
    with pytest.raises(InvalidRecordError, match="checksum"):
        unpack(stream[:-1] + bytes([stream[-1] ^ 1]))


def test_frames_are_read_one_after_another_and_skippable_ones_skipped() -> None:
    one, two = compress(Codec.ZSTD, b"oct"), compress(Codec.ZSTD, b"avo")
    assert unpack(one + two) == b"octavo"
    assert unpack(SKIPPABLE + one + SKIPPABLE + SKIPPABLE + two + SKIPPABLE) == b"octavo"
    assert unpack(SKIPPABLE) == b""
    assert unpack(b"") == b""


def test_raw_and_repeated_blocks_are_read() -> None:
    assert unpack(frame(block(RAW, 6, b"octavo"), block(RLE, 3, b"!"), block(LAST, 0, b""))) == b"octavo!!!"


@pytest.mark.parametrize(
    "rest", [b"\0", b"\x28\xb5\x2f", MAGIC, MAGIC + b"\0", SKIPPABLE[:-1], SKIPPABLE[:7], CHECKED[:-5]]
)
def test_a_further_frame_cut_short_is_refused(rest: bytes) -> None:
    first = compress(Codec.ZSTD, b"octavo")
    with pytest.raises(InvalidRecordError) as caught:
        unpack(first + rest)
    assert caught.value.position is not None
    assert caught.value.position >= len(first)


def test_other_magic_is_refused() -> None:
    with pytest.raises(InvalidRecordError, match="zstd magic 0xfd2fb527, expected 0xfd2fb528") as caught:
        unpack(CHECKED + b"\x27" + CHECKED[1:])
    assert caught.value.position == len(CHECKED)


def test_a_reserved_block_type_is_refused() -> None:
    with pytest.raises(InvalidRecordError, match="zstd block type 3"):
        unpack(frame(block(RESERVED | LAST, 1, b"o")))


def test_a_reserved_bit_is_refused() -> None:
    with pytest.raises(InvalidRecordError, match="descriptor 0x08"):
        unpack(MAGIC + b"\x08\x58" + block(LAST, 0, b""))


def test_a_block_beyond_the_end_is_refused() -> None:
    with pytest.raises(InvalidRecordError, match="block of 7 bytes, but only 6 are left"):
        unpack(frame(block(LAST, 7, b"octavo")))


@pytest.mark.parametrize("size", [0, 5, 7, 0xFFFFFFFF])
def test_a_wrong_content_size_is_refused_and_never_reserved(size: int) -> None:
    scratch = Scratch()
    with pytest.raises(InvalidRecordError):
        decompress(Codec.ZSTD, MAGIC + b"\xa0" + pack("<I", size) + block(LAST, 6, b"octavo"), scratch=scratch)
    assert len(scratch.buffer) <= 6


@pytest.mark.parametrize("header", ["205e", "a007000000", "805807000000"])
def test_a_content_size_that_the_blocks_cannot_hold_is_refused_after_an_empty_last_block_too(header: str) -> None:
    blocks = b"" if header == "205e" else block(RAW, 6, b"octavo")
    with pytest.raises(InvalidRecordError, match="content size"):
        unpack(MAGIC + bytes.fromhex(header) + blocks + block(LAST, 0, b""))


def test_a_content_size_that_is_not_allowed_is_not_unpacked() -> None:
    packed = CHECKED_SIZED[6:-4]
    stream = MAGIC + b"\x20\x5e" + bytes([packed[0] & ~LAST]) + packed[1:] + block(LAST, 0, b"")
    with pytest.raises(DecompressionLimitError):
        unpack(stream, limit=60)
    with pytest.raises(InvalidRecordError, match="broken zstd stream"):
        unpack(stream)


def test_a_context_is_good_after_a_broken_stream() -> None:
    for _ in range(3):
        with pytest.raises(InvalidRecordError):
            unpack(CHECKED[:-1] + b"\0")
        assert unpack(CHECKED) == b"octavo" * 10


def test_a_window_beyond_128_mib_is_refused() -> None:
    with pytest.raises(InvalidRecordError):
        unpack(frame(block(LAST, 6, b"octavo"), window=18 << 3))


def test_a_broken_block_is_refused() -> None:
    with pytest.raises(InvalidRecordError, match="broken zstd stream"):
        unpack(frame(block(COMPRESSED | LAST, 6, b"octavo")))


def test_a_frame_that_needs_a_dictionary_is_refused() -> None:
    with pytest.raises(InvalidRecordError, match="broken zstd stream"):
        unpack(MAGIC + b"\x01\x58\x07" + block(LAST, 6, b"octavo"))


def test_a_bomb_of_repeated_blocks_is_stopped() -> None:
    bomb = frame(*[block(RLE, 128 << 10, b"!")] * 100_000, block(LAST, 0, b""))
    scratch = Scratch()
    with pytest.raises(DecompressionLimitError):
        decompress(Codec.ZSTD, bomb, limit=1 << 20, scratch=scratch)
    assert len(scratch.buffer) <= 1 << 20


def test_a_stream_within_the_limit_is_read_though_its_bound_is_not() -> None:
    data = compressible(10_000)
    stream = compress(Codec.ZSTD, data)
    assert output_size(memoryview(stream)).bound > len(data)
    assert unpack(stream, limit=len(data)) == data
