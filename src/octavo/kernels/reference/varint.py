"""Kafka's varints, in plain Python."""

from __future__ import annotations


class BrokenVarintError(Exception):
    """A varint that is too long or truncated; `position` is where it begins."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


def read_uvarint(data: memoryview | bytes | bytearray, position: int, end: int, limit: int = 5) -> tuple[int, int]:
    """Read a varint of at most `limit` bytes; returns (value, next position)."""
    value = 0
    for group in range(min(limit, end - position)):
        byte = data[position + group]
        value |= (byte & 0x7F) << (7 * group)
        if byte < 0x80:
            return value, position + group + 1
    raise BrokenVarintError(position)


def read_varint(data: memoryview | bytes | bytearray, position: int, end: int) -> tuple[int, int]:
    value, position = read_uvarint(data, position, end)
    value &= 0xFFFFFFFF  # bits above the 32nd are dropped, as in Kafka
    return value >> 1 ^ -(value & 1), position


def read_varlong(data: memoryview | bytes | bytearray, position: int, end: int) -> tuple[int, int]:
    value, position = read_uvarint(data, position, end, limit=10)
    value &= 0xFFFFFFFFFFFFFFFF
    return value >> 1 ^ -(value & 1), position


def write_uvarint(value: int) -> bytes:
    groups = bytearray()
    while value >= 0x80:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)


def write_varint(value: int) -> bytes:
    return write_uvarint((value << 1 ^ value >> 31) & 0xFFFFFFFF)


def write_varlong(value: int) -> bytes:
    return write_uvarint((value << 1 ^ value >> 63) & 0xFFFFFFFFFFFFFFFF)
