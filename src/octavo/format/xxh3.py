"""XXH3, 64 bits: the hash with which Kafka notices that the topics of a group have changed."""

from __future__ import annotations

import struct
from typing import Final

_SECRET: Final = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_MASK: Final = (1 << 64) - 1
_PRIME32: Final = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
_PRIME64: Final = (
    0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5,
)  # fmt: skip
_PRIME_MX1: Final = 0x165667919E3779F9
_PRIME_MX2: Final = 0x9FB21C651E98DF25
_STRIPE: Final = 64
_STRIPES_PER_BLOCK: Final = (len(_SECRET) - _STRIPE) // 8
_LANES: Final = struct.Struct("<8Q")


def xxh3_64(data: bytes) -> int:
    """The hash as Java returns it: a signed 64-bit number."""
    length = len(data)
    if length <= 16:
        found = _short(data)
    elif length <= 128:
        found = _middle(data)
    elif length <= 240:
        found = _long_middle(data)
    else:
        found = _long(data)
    return found - (1 << 64) if found >> 63 else found


def _short(data: bytes) -> int:
    length = len(data)
    if length > 8:
        low = _u64(data, 0) ^ (_secret64(24) ^ _secret64(32))
        high = _u64(data, length - 8) ^ (_secret64(40) ^ _secret64(48))
        return _avalanche(length + int.from_bytes(low.to_bytes(8, "little"), "big") + high + _fold(low, high))
    if length >= 4:
        keyed = (_u32(data, length - 4) + (_u32(data, 0) << 32)) ^ (_secret64(8) ^ _secret64(16))
        return _rrmxmx(keyed, length)
    if length:
        combined = data[0] << 16 | data[length >> 1] << 24 | data[-1] | length << 8
        return _xxh64_avalanche(combined ^ (_u32(_SECRET, 0) ^ _u32(_SECRET, 4)))
    return _xxh64_avalanche(_secret64(56) ^ _secret64(64))


def _middle(data: bytes) -> int:
    length = len(data)
    total = length * _PRIME64[0]
    for number in range((length - 1) // 32 + 1):
        total += _mix16(data, 16 * number, 32 * number)
        total += _mix16(data, length - 16 * (number + 1), 32 * number + 16)
    return _avalanche(total)


def _long_middle(data: bytes) -> int:
    length = len(data)
    total = length * _PRIME64[0] + sum(_mix16(data, 16 * number, 16 * number) for number in range(8))
    total = _avalanche(total)
    total += sum(_mix16(data, 16 * number, 16 * (number - 8) + 3) for number in range(8, length // 16))
    return _avalanche(total + _mix16(data, length - 16, 136 - 17))


def _long(data: bytes) -> int:
    lanes = [
        _PRIME32[2], _PRIME64[0], _PRIME64[1], _PRIME64[2], _PRIME64[3], _PRIME32[1], _PRIME64[4], _PRIME32[0],
    ]  # fmt: skip
    for stripe in range((len(data) - 1) // _STRIPE):
        place = stripe % _STRIPES_PER_BLOCK
        _accumulate(lanes, data, stripe * _STRIPE, 8 * place)
        if place == _STRIPES_PER_BLOCK - 1:
            _scramble(lanes)
    _accumulate(lanes, data, len(data) - _STRIPE, len(_SECRET) - _STRIPE - 7)
    total = len(data) * _PRIME64[0]
    for pair in range(4):
        place = 11 + 16 * pair
        total += _fold(lanes[2 * pair] ^ _secret64(place), lanes[2 * pair + 1] ^ _secret64(place + 8))
    return _avalanche(total)


def _accumulate(lanes: list[int], data: bytes, start: int, secret: int) -> None:
    values, keys = _LANES.unpack_from(data, start), _LANES.unpack_from(_SECRET, secret)
    for lane in range(8):
        keyed = values[lane] ^ keys[lane]
        lanes[lane ^ 1] = (lanes[lane ^ 1] + values[lane]) & _MASK
        lanes[lane] = (lanes[lane] + (keyed & 0xFFFFFFFF) * (keyed >> 32)) & _MASK


def _scramble(lanes: list[int]) -> None:
    keys = _LANES.unpack_from(_SECRET, len(_SECRET) - _STRIPE)
    for lane in range(8):
        lanes[lane] = ((lanes[lane] ^ lanes[lane] >> 47 ^ keys[lane]) * _PRIME32[0]) & _MASK


def _mix16(data: bytes, start: int, secret: int) -> int:
    return _fold(_u64(data, start) ^ _secret64(secret), _u64(data, start + 8) ^ _secret64(secret + 8))


def _fold(left: int, right: int) -> int:
    product = left * right
    return (product & _MASK) ^ product >> 64


def _avalanche(value: int) -> int:
    value &= _MASK
    value = ((value ^ value >> 37) * _PRIME_MX1) & _MASK
    return value ^ value >> 32


def _xxh64_avalanche(value: int) -> int:
    value = ((value ^ value >> 33) * _PRIME64[1]) & _MASK
    value = ((value ^ value >> 29) * _PRIME64[2]) & _MASK
    return value ^ value >> 32


def _rrmxmx(value: int, length: int) -> int:
    value ^= (value << 49 | value >> 15) & _MASK ^ (value << 24 | value >> 40) & _MASK
    value = (value * _PRIME_MX2) & _MASK
    value ^= (value >> 35) + length
    value = (value * _PRIME_MX2) & _MASK
    return value ^ value >> 28


def _secret64(position: int) -> int:
    return _u64(_SECRET, position)


def _u64(data: bytes, position: int) -> int:
    return int.from_bytes(data[position : position + 8], "little")


def _u32(data: bytes, position: int) -> int:
    return int.from_bytes(data[position : position + 4], "little")
