"""Kafka's search in an index, step by step.

Over sorted slots it finds what any binary search finds. Over the zero tail of a file that was never trimmed, or over
damaged slots, it ends at the slot at which Kafka ends: what a tool of Kafka's says about such a file depends on it.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

# The last 8 KiB of an index are likely to be in memory, so Kafka looks there first.
_WARM_BYTES = 8192


def last_slot_up_to(keys: NDArray[Any], target: int, entry_bytes: int) -> int:
    """The slot of the largest key up to the target; -1 when the first is larger, or there is none."""
    if not len(keys):
        return -1
    first_warm = max(0, len(keys) - 1 - _WARM_BYTES // entry_bytes)
    if keys[first_warm] < target:
        return _search(keys, target, first_warm, len(keys) - 1)
    if keys[0] > target:
        return -1
    return _search(keys, target, 0, first_warm)


def _search(keys: NDArray[Any], target: int, low: int, high: int) -> int:
    while low < high:
        middle = (low + high + 1) // 2
        key = int(keys[middle])
        if key == target:
            return middle
        if key > target:
            high = middle - 1
        else:
            low = middle
    return low
