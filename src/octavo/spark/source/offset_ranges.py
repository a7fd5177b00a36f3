"""Divides offset ranges by minPartitions and maxRecordsPerPartition, by the rules of Spark's Kafka source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from octavo.format.names import TopicPartition


class PartitionRange(NamedTuple):
    """Offsets of a partition, end exclusive."""

    topic_partition: TopicPartition
    start: int
    end: int

    @property
    def size(self) -> int:
        """The number of offsets; there may be fewer records, as after compaction."""
        return self.end - self.start


def divide(
    ranges: Iterable[PartitionRange], min_partitions: int | None, max_records: int | None
) -> list[PartitionRange]:
    """The non-empty ranges, divided further where one is too long, or if there are too few."""
    divided = [part for part in ranges if part.size > 0]
    if max_records is not None:
        divided = [piece for part in divided for piece in _pieces(part, -(-part.size // max_records))]
    if min_partitions is not None and len(divided) < min_partitions:
        divided = _at_least(divided, min_partitions)
    return divided


def _at_least(ranges: Sequence[PartitionRange], number: int) -> list[PartitionRange]:
    """Divide into about this many ranges: small ones stay whole, the others are divided in proportion to their sizes.

    If a partition has already been divided, one small range keeps its other ranges whole too, as in Spark's source.
    """
    total = sum(part.size for part in ranges)
    small = [part for part in ranges if _share(part.size, total, number) == 1]
    whole = {part.topic_partition for part in small}
    rest_size = total - sum(part.size for part in small)
    rest_number = max(number - len(small), 1)
    return [
        piece
        for part in ranges
        for piece in _pieces(part, 1 if part.topic_partition in whole else _share(part.size, rest_size, rest_number))
    ]


def _share(size: int, total: int, number: int) -> int:
    return max(int(size / total * number + 0.5), 1)  # halves go up, as in Java


def _pieces(part: PartitionRange, number: int) -> list[PartitionRange]:
    """Equal pieces, no more than there are offsets; a remainder goes to the last ones."""
    pieces, start = [], part.start
    for left in range(min(number, part.size), 0, -1):
        end = start + (part.end - start) // left
        pieces.append(PartitionRange(part.topic_partition, start, end))
        start = end
    return pieces
