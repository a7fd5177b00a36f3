"""Arithmetic of producers' sequence numbers, which wrap around from 2147483647 to 0."""

from __future__ import annotations

from octavo.kernels.layout import NO_SEQUENCE

MAX_SEQUENCE = 2**31 - 1


def increment(sequence: int, by: int) -> int:
    return (sequence + by) % (MAX_SEQUENCE + 1)


def decrement(sequence: int, by: int) -> int:
    return (sequence - by) % (MAX_SEQUENCE + 1)


def last_sequence(base_sequence: int, last_offset_delta: int) -> int:
    return NO_SEQUENCE if base_sequence == NO_SEQUENCE else increment(base_sequence, last_offset_delta)


def record_sequence(base_sequence: int, offset_delta: int) -> int:
    return increment(base_sequence, offset_delta) if base_sequence >= 0 else NO_SEQUENCE
