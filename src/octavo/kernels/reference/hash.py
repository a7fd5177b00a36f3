"""Checksums and hashes in plain Python."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from typing_extensions import Buffer

_MASK = 0xFFFFFFFF


def _table(polynomial: int) -> list[int]:
    table = list(range(256))
    for _ in range(8):
        table = [value >> 1 ^ (polynomial if value & 1 else 0) for value in table]
    return table


_CRC32C = _table(0x82F63B78)


def crc32c_implementation() -> str:
    """Which CRC-32C implementation this machine uses."""
    return "python"


def crc32c(data: Buffer, value: int = 0) -> int:
    crc = value ^ _MASK
    table = _CRC32C
    for byte in memoryview(data).cast("B"):
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ _MASK


crc32c_by_table = crc32c


def crc32(data: Buffer, value: int = 0) -> int:
    return zlib.crc32(data, value)


def _rotate(value: int, bits: int) -> int:
    value &= _MASK
    return (value << bits | value >> (32 - bits)) & _MASK


_PRIMES = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1


def xxh32(data: Buffer) -> int:
    """xxHash32 with seed 0."""
    one, two, three, four, five = _PRIMES
    view = bytes(data)
    whole = len(view) // 16 * 16
    if whole:
        lanes = [one + two, two, 0, -one]
        for at in range(0, whole, 4):
            lane = at // 4 % 4
            word = int.from_bytes(view[at : at + 4], "little")
            lanes[lane] = _rotate(lanes[lane] + word * two, 13) * one
        state = sum(_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
    else:
        state = five
    state += len(view)
    words = len(view) // 4 * 4
    for at in range(whole, words, 4):
        state = _rotate(state + int.from_bytes(view[at : at + 4], "little") * three, 17) * four
    for byte in view[words:]:
        state = _rotate(state + byte * five, 11) * one
    state &= _MASK
    state = (state ^ state >> 15) * two & _MASK
    state = (state ^ state >> 13) * three & _MASK
    return state ^ state >> 16


def murmur2(data: Buffer) -> int:
    """Kafka's murmur2 of one key, as Java's signed int."""
    m = 0x5BD1E995
    view = bytes(data)
    state = 0x9747B28C ^ len(view)
    whole = len(view) // 4 * 4
    for at in range(0, whole, 4):
        k = int.from_bytes(view[at : at + 4], "little") * m & _MASK
        k = (k ^ k >> 24) * m & _MASK
        state = state * m & _MASK ^ k
    if len(view) > whole:
        state = (state ^ int.from_bytes(view[whole:], "little")) * m & _MASK
    state = (state ^ state >> 13) * m & _MASK
    state ^= state >> 15
    return state - (1 << 32) if state >> 31 else state


def murmur2_column(offsets: NDArray[np.int32], data: Buffer, out: NDArray[np.int32]) -> None:
    """murmur2 of each value of a binary column: `out[i]` from `data[offsets[i]:offsets[i + 1]]`."""
    view = memoryview(data).cast("B")
    if len(offsets) < len(out) + 1:
        raise ValueError("row 0: its offsets do not lie inside the column's data")
    for row in range(len(out)):
        start, end = int(offsets[row]), int(offsets[row + 1])
        if not 0 <= start <= end <= len(view):
            raise ValueError(f"row {row}: its offsets do not lie inside the column's data")
        out[row] = murmur2(view[start:end])
