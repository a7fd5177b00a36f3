"""Checksums and hashes: known values, every path of the fast ones, and agreement of all implementations."""

from __future__ import annotations

import random
import zlib
from types import SimpleNamespace

import crc32c as independent_crc32c
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels import implementations

BYTES = random.Random(1).randbytes(3 * 4096 * 3 + 17)
# Around the lengths at which the instruction's three streams, of 64, 512 or 4096 bytes each, run once, twice and three
# times.
STREAMS = [3 * stream * times + more for stream in (64, 512, 4096) for times in (1, 2, 3) for more in range(-9, 10)]
LENGTHS = sorted({*range(301), *(length for length in STREAMS if length <= len(BYTES))})


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        (b"\0" * 32, 0x8A9136AA),  # RFC 3720, B.4
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(reversed(range(32))), 0x113FDB5C),
    ],
)
def test_crc32c_of_known_data(kernels: SimpleNamespace, data: bytes, expected: int) -> None:
    assert kernels.crc32c(data) == expected
    assert kernels.crc32c_by_table(data) == expected


def test_crc32c_of_every_length(kernels: SimpleNamespace) -> None:
    for length in LENGTHS:
        for start in (0, 1):  # aligned and not
            data = BYTES[start : start + length]
            expected = independent_crc32c.crc32c(data)
            assert (length, kernels.crc32c(data)) == (length, expected)
            assert (length, kernels.crc32c_by_table(data)) == (length, expected)


def test_crc32c_goes_on_from_a_value(kernels: SimpleNamespace) -> None:
    whole = kernels.crc32c(BYTES)
    for cut in (0, 1, 7, 8, 191, 192, 193, 1536, 12288, len(BYTES)):
        assert kernels.crc32c(BYTES[cut:], kernels.crc32c(BYTES[:cut])) == whole
        assert kernels.crc32c_by_table(BYTES[cut:], kernels.crc32c_by_table(BYTES[:cut])) == whole


def test_crc32_is_that_of_zlib(kernels: SimpleNamespace) -> None:
    assert kernels.crc32(b"123456789") == 0xCBF43926
    for length in (*range(70), len(BYTES)):
        assert kernels.crc32(BYTES[:length]) == zlib.crc32(BYTES[:length])
    assert kernels.crc32(b"456789", kernels.crc32(b"123")) == 0xCBF43926


@given(st.binary(max_size=600), st.integers(0, 2**32 - 1))
def test_checksums_agree(data: bytes, value: int) -> None:
    compiled, reference = implementations.both()
    for name in ("crc32c", "crc32c_by_table", "crc32"):
        assert getattr(compiled, name)(data, value) == getattr(reference, name)(data, value)
    for name in ("xxh32", "murmur2"):
        assert getattr(compiled, name)(data) == getattr(reference, name)(data)


def test_which_crc32c_runs_is_reported(kernels: SimpleNamespace) -> None:
    expected = {"compiled": {"sse4.2", "armv8-crc", "portable"}, "reference": {"python"}}
    assert kernels.crc32c_implementation() in expected[kernels.name]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0x02CC5D05),
        (b"a", 0x550D7456),
        (b"abc", 0x32D153FF),
        (b"Nobody inspects the spammish repetition", 0xE2293B2F),
        (b"0123456789abcdef", 0xC2C45B69),
    ],
)
def test_xxh32_of_known_data(kernels: SimpleNamespace, data: bytes, expected: int) -> None:
    assert kernels.xxh32(data) == expected


# The values of Kafka's own UtilsTest.
MURMUR2 = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize(("data", "expected"), MURMUR2.items())
def test_murmur2_of_known_data(kernels: SimpleNamespace, data: bytes, expected: int) -> None:
    assert kernels.murmur2(data) == expected


def test_murmur2_of_a_column(kernels: SimpleNamespace) -> None:
    offsets = np.cumsum([3, *(len(data) for data in MURMUR2)]).astype(np.int32)
    out = np.zeros(len(MURMUR2), np.int32)
    kernels.murmur2_column(offsets, b"xxx" + b"".join(MURMUR2), out)
    assert out.tolist() == list(MURMUR2.values())
    kernels.murmur2_column(offsets[:1], b"", out[:0])


@pytest.mark.parametrize("offsets", [[0, 2], [0, 2, 1], [-1, 1, 2], [0, 1, 4]])
def test_murmur2_refuses_offsets_that_lead_outside(kernels: SimpleNamespace, offsets: list[int]) -> None:
    data = bytearray(b"abc")
    with pytest.raises(ValueError, match="offsets do not lie inside"):
        kernels.murmur2_column(np.array(offsets, np.int32), data, np.zeros(2, np.int32))
    data.clear()  # a BufferError if the kernel still held it


def test_hashes_accept_any_buffer(kernels: SimpleNamespace) -> None:
    for data in (
        b"123456789",
        bytearray(b"123456789"),
        memoryview(b"0123456789")[1:],
        np.frombuffer(b"123456789", "B"),
    ):
        assert kernels.crc32c(data) == 0xE3069283
        assert kernels.crc32(data) == 0xCBF43926
        assert kernels.murmur2(data) == kernels.murmur2(b"123456789")
        assert kernels.xxh32(data) == 0x937BAD67
