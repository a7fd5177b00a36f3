"""How far a micro-batch goes: by offsets, by bytes, and when to wait for more. Values in, decision out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from octavo.format.names import TopicPartition
from octavo.spark.query.values import Offsets

# For a partition: how many bytes lie between two offsets, and up to which offset so many bytes reach.
Measure = Callable[[TopicPartition, int, int], int]
Reach = Callable[[TopicPartition, int, int, int], int]


def backlog(starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> int:
    """How many offsets there are to read."""
    return sum(max(end - starts.get(name, 0), 0) for name, end in ends.items())


def must_wait(new_offsets: int, min_offsets: int, since_last_ms: int, max_delay_ms: int) -> bool:
    """Whether to wait for more: too few offsets, and the longest delay is not over."""
    return new_offsets < min_offsets and since_last_ms < max_delay_ms


def limit_offsets(most: int, starts: Offsets, ends: Offsets) -> Offsets:
    """Share out a number of offsets in proportion to what each partition has; none that has some gets nothing."""
    sizes = {name: end - starts[name] for name, end in ends.items() if end > starts[name]}
    total = sum(sizes.values())
    limited = dict(ends)
    for name, size in sizes.items():
        share = most * size // total or min(most, 1)
        limited[name] = min(starts[name] + share, ends[name])
    return limited


def limit_bytes(most: int, starts: Offsets, ends: Offsets, measure: Measure, reach: Reach) -> Offsets:
    """Share out a number of bytes likewise. Each partition goes on by a batch at least, so that a large one passes."""
    sizes = {name: measure(name, starts[name], end) for name, end in ends.items() if end > starts[name]}
    total = sum(sizes.values())
    limited = dict(ends)
    if total > most:
        for name, size in sizes.items():
            limited[name] = reach(name, starts[name], ends[name], most * size // total)
    return limited
