"""Arithmetic of producers' sequence numbers, which wrap around from 2147483647 to 0.

It uses 32 bits, like Kafka, so even the numbers of a damaged header (a negative delta) give Kafka's results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.kernels.integers import INT32_MAX, signed32
from octavo.kernels.layout import NO_SEQUENCE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_SEQUENCE = INT32_MAX


def increment(sequence: int, by: int) -> int:
    if sequence > signed32(MAX_SEQUENCE - by):
        return signed32(by - (MAX_SEQUENCE - sequence) - 1)
    return signed32(sequence + by)


def decrement(sequence: int, by: int) -> int:
    if sequence < by:
        return signed32(MAX_SEQUENCE - (by - sequence) + 1)
    return signed32(sequence - by)


def last_sequence(base_sequence: int, last_offset_delta: int) -> int:
    return NO_SEQUENCE if base_sequence == NO_SEQUENCE else increment(base_sequence, last_offset_delta)


def record_sequence(base_sequence: int, offset_delta: int) -> int:
    return increment(base_sequence, offset_delta) if base_sequence >= 0 else NO_SEQUENCE


def record_sequences(base_sequence: int, offset_deltas: NDArray[np.int64]) -> NDArray[np.int32]:
    """`record_sequence` for many records."""
    import numpy as np  # imported here: callers of this function have it loaded, others do not need it

    if base_sequence < 0:
        return np.full(len(offset_deltas), NO_SEQUENCE, np.int32)
    room = (np.int64(MAX_SEQUENCE) - offset_deltas).astype(np.int32)
    wrapped = np.where(
        base_sequence > room, offset_deltas - (MAX_SEQUENCE - base_sequence) - 1, offset_deltas + base_sequence
    )
    return wrapped.astype(np.int32)
