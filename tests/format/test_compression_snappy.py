"""snappy in xerial's framing: what Kafka writes, and the eight rules of its reader (docs/formats/compression.md)."""

from __future__ import annotations

from struct import pack, unpack_from

import cramjam
import pytest

from octavo.errors import DecompressionLimitError, InvalidRecordError
from octavo.format.compression import Codec, compress, decompress
from tests.format.streams import compressible, incompressible

MAGIC = b"\x82SNAPPY\0"
HEADER = MAGIC + pack(">ii", 1, 1)


def unpack(stream: bytes, limit: int = 1 << 20) -> bytes:
    return bytes(decompress(Codec.SNAPPY, stream, limit=limit))


def block(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


def chunk(data: bytes) -> bytes:
    return pack(">i", len(block(data))) + block(data)


@pytest.mark.parametrize("size", [0, 1, 32767, 32768, 32769, 100_000])
def test_chunks_hold_32_kib(size: int) -> None:
    data = compressible(size)
    stream = compress(Codec.SNAPPY, data)
    assert stream[:16] == HEADER
    position, sizes = 16, []
    while position < len(stream):
        (length,) = unpack_from(">i", stream, position)
        sizes.append(len(cramjam.snappy.decompress_raw(stream[position + 4 : position + 4 + length])))
        position += 4 + length
    assert sizes == [32768] * (size // 32768) + [size % 32768] * (size % 32768 > 0)


def test_empty_input_is_refused() -> None:  # rule 1
    with pytest.raises(InvalidRecordError, match="empty snappy stream"):
        unpack(b"")


@pytest.mark.parametrize("data", [b"", b"a", b"octavo" * 2, compressible(100_000), incompressible(50_000)])
def test_input_without_the_magic_is_one_block(data: bytes) -> None:  # rule 2
    assert unpack(block(data)) == data


def test_input_shorter_than_a_header_is_one_block() -> None:  # rule 2
    with pytest.raises(InvalidRecordError, match="claims to hold"):
        unpack(HEADER[:15])


@pytest.mark.parametrize("versions", [(0, 0), (-1, -1), (99, 99)])
def test_the_first_headers_versions_are_not_checked(versions: tuple[int, int]) -> None:  # rule 3
    assert unpack(MAGIC + pack(">ii", *versions) + chunk(b"octavo")) == b"octavo"


@pytest.mark.parametrize("rest", [b"", b"\0", b"\xff\xff", b"\x82SN"])
def test_fewer_than_four_bytes_are_a_clean_end(rest: bytes) -> None:  # rule 4
    assert unpack(HEADER + chunk(b"octavo") + rest) == b"octavo"


def test_concatenated_streams_are_read_on() -> None:  # rule 5
    second = MAGIC + pack(">ii", 2, 0)
    assert unpack(HEADER + chunk(b"oct") + second + second + chunk(b"avo")) == b"octavo"


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        (MAGIC + pack(">ii", 0, 1), "version 0"),
        (MAGIC + pack(">ii", -5, 1), "version -5"),
        (HEADER[:15], "broken header"),
        (HEADER[:4], "broken header"),
        (b"\x82SNAPPX\0" + HEADER[8:], "broken header"),
    ],
)
def test_a_concatenated_header_has_to_be_right(header: bytes, problem: str) -> None:  # rule 5
    first = HEADER + chunk(b"octavo")
    with pytest.raises(InvalidRecordError, match=problem) as caught:
        unpack(first + header)
    assert caught.value.position == len(first)


@pytest.mark.parametrize("length", [-1, -(1 << 31), (512 << 20) + 1, (1 << 31) - 1])
def test_a_chunk_length_out_of_range_is_refused(length: int) -> None:  # rule 6
    with pytest.raises(InvalidRecordError, match=f"chunk of {length} bytes, expected 0 to 536870912") as caught:
        unpack(HEADER + pack(">i", length) + block(b"octavo"))
    assert caught.value.position == 16


def test_a_chunk_that_reaches_beyond_the_end_is_refused() -> None:  # rule 7
    with pytest.raises(InvalidRecordError, match="chunk of 9 bytes, but only 8 are left"):
        unpack(HEADER + pack(">i", 9) + block(b"octavo"))


@pytest.mark.parametrize("size", [1, 100, 65536, 400_000])
def test_chunks_may_have_any_size(size: int) -> None:  # rule 8
    data = compressible(size)
    assert unpack(HEADER + chunk(data) + chunk(b"") + chunk(data)) == data * 2


def test_a_chunk_without_a_block_is_refused() -> None:
    with pytest.raises(InvalidRecordError, match="without its size"):
        unpack(HEADER + pack(">i", 0))


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (b"\x80" * 5 + b"\0", "without its size"),  # a sixth byte
        (b"\xff\xff\xff\xff\x1f" + b"a" * 20, "32 bits"),
        (b"\xff\xff\xff\xff\x0f" + b"a" * 20, "claims to hold 4294967295"),
        (b"\x07\x14octavo", "broken snappy stream"),  # it says seven bytes, and has six
        (b"\x05\x14octavo", "broken snappy stream"),  # it says five
        (b"\x08\x00o\x1e\x05\x00", "broken snappy stream"),  # a copy from before the beginning
    ],
)
def test_a_broken_block_is_refused(broken: bytes, problem: str) -> None:
    with pytest.raises(InvalidRecordError, match=problem) as caught:
        unpack(HEADER + chunk(b"octavo") + pack(">i", len(broken)) + broken)
    assert caught.value.position == len(HEADER + chunk(b"octavo")) + 4


def test_the_limit_counts_all_chunks() -> None:
    stream = HEADER + chunk(b"octavo") * 3
    assert unpack(stream, limit=18) == b"octavo" * 3
    with pytest.raises(DecompressionLimitError):
        unpack(stream, limit=17)
