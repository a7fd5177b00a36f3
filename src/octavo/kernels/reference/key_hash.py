"""Hashes of keys, 16 bytes each, in plain Python."""

from __future__ import annotations

import hashlib

from octavo.kernels.offset_table import KeyHash

_MASK = 2**64 - 1


def hash_key(key_hash: int, key: bytes | memoryview, secret0: int, secret1: int) -> bytes:
    """The hash as stored in a slot; all zeros mark an empty slot."""
    if key_hash == KeyHash.MD5:
        return hashlib.md5(key, usedforsecurity=False).digest()
    digest = siphash128(bytes(key), secret0 & _MASK, secret1 & _MASK)
    return digest if any(digest) else b"\x01" + bytes(15)


def siphash128(data: bytes, key0: int, key1: int) -> bytes:
    """SipHash-1-3 of 128 bits."""
    state = [key0 ^ 0x736F6D6570736575, key1 ^ 0x646F72616E646F6D ^ 0xEE]
    state += [key0 ^ 0x6C7967656E657261, key1 ^ 0x7465646279746573]
    whole = len(data) // 8 * 8
    words = [int.from_bytes(data[at : at + 8], "little") for at in range(0, whole, 8)]
    for word in [*words, int.from_bytes(data[whole:], "little") | (len(data) & 0xFF) << 56]:
        state[3] ^= word
        _round(state)
        state[0] ^= word
    halves = []
    for slot, constant in ((2, 0xEE), (1, 0xDD)):
        state[slot] ^= constant
        for _ in range(3):
            _round(state)
        halves.append(state[0] ^ state[1] ^ state[2] ^ state[3])
    return b"".join(half.to_bytes(8, "little") for half in halves)


def _round(state: list[int]) -> None:
    a, b, c, d = state
    a = (a + b) & _MASK
    b = _rotate(b, 13) ^ a
    a = _rotate(a, 32)
    c = (c + d) & _MASK
    d = _rotate(d, 16) ^ c
    a = (a + d) & _MASK
    d = _rotate(d, 21) ^ a
    c = (c + b) & _MASK
    b = _rotate(b, 17) ^ c
    c = _rotate(c, 32)
    state[:] = a, b, c, d


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _MASK
