"""Java's integers: their limits, and arithmetic that wraps around as in Java."""

from __future__ import annotations

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


def signed32(number: int) -> int:
    """The number wrapped to a Java int."""
    return (number + 2**31) % 2**32 - 2**31


def signed64(number: int) -> int:
    """The number wrapped to a Java long."""
    return (number + 2**63) % 2**64 - 2**63
