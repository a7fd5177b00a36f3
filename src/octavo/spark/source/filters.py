"""Applies the filters that Spark pushes down on topic, partition, offset and timestamp, to limit what is read."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from octavo.scanner.findings import Note
from octavo.scanner.lookup.times import first_offset_from
from octavo.spark.source.offset_ranges import PartitionRange

if TYPE_CHECKING:
    import pyarrow as pa

    from octavo.scanner.partition.snapshot import PartitionSnapshot

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The test that each filter applies to a value, which is never null.
_TESTS: dict[type[Filter], Callable[[Any, Any], bool]] = {
    EqualTo: operator.eq,
    EqualNullSafe: operator.eq,
    GreaterThan: operator.gt,
    GreaterThanOrEqual: operator.ge,
    LessThan: operator.lt,
    LessThanOrEqual: operator.le,
    In: lambda value, values: value in values,
    StringStartsWith: str.startswith,
    StringEndsWith: str.endswith,
    StringContains: operator.contains,
}
_BOUNDS = EqualTo, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual
_COMPUTE = {
    EqualTo: "equal",
    GreaterThan: "greater",
    GreaterThanOrEqual: "greater_equal",
    LessThan: "less",
    LessThanOrEqual: "less_equal",
}


@dataclass(frozen=True, slots=True)
class Pushed:
    """The filters that the source applies itself; all of them must hold. Picklable."""

    topic: tuple[Filter, ...] = ()
    partition: tuple[Filter, ...] = ()
    offset: tuple[Filter, ...] = ()
    timestamp: tuple[Filter, ...] = ()

    @classmethod
    def of(cls, filters: Iterable[Filter]) -> tuple[Pushed, list[Filter]]:
        """Take the filters that can be applied exactly, and return the others for Spark to apply."""
        taken: dict[str, list[Filter]] = {"topic": [], "partition": [], "offset": [], "timestamp": []}
        left = []
        for condition in filters:
            column = _column(condition)
            if column in taken and _is_exact(column, condition):
                taken[column].append(condition)
            else:
                left.append(condition)
        return cls(**{column: tuple(conditions) for column, conditions in taken.items()}), left

    def narrow(self, part: PartitionRange, snapshot: PartitionSnapshot) -> PartitionRange:
        """The offsets that can hold wanted records; an empty range if none of the partition is wanted."""
        wanted = all(holds(condition, part.topic_partition.topic) for condition in self.topic)
        if not wanted or not all(holds(condition, part.topic_partition.partition) for condition in self.partition):
            return part._replace(end=part.start)
        start, end = part.start, part.end
        for condition in self.offset:
            low, high = _bounds(condition)
            start = start if low is None else max(start, low)
            end = end if high is None else min(end, high + 1)
        if start < end:
            start = max(start, self._first_in_time(snapshot, end))
        return part._replace(start=min(start, end), end=end)

    def _first_in_time(self, snapshot: PartitionSnapshot, end: int) -> int:
        """The first offset whose record is late enough, 0 if unknown. Records after it may still be older."""
        lows = [low for low, _ in map(_bounds, self.timestamp) if low is not None]
        if not lows:
            return 0
        passed: list[Note] = []
        try:
            offset = first_offset_from(snapshot, -(-max(lows) // 1000), passed)
        except FileNotFoundError:
            return 0  # deleted since it was listed, which the reader will report
        if passed:
            return 0  # damage, which the reader will report
        return end if offset is None else offset

    def filter_rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Keep the rows whose timestamps are wanted."""
        conditions = [condition for condition in self.timestamp if not isinstance(condition, IsNotNull)]
        if not conditions:
            return batches
        return _filtered(batches, conditions)


def holds(condition: Filter, value: Any) -> bool:
    """Whether a filter accepts a value."""
    if isinstance(condition, Not):
        return not holds(condition.child, value)
    if isinstance(condition, IsNotNull):
        return True
    return _TESTS[type(condition)](value, condition.value)  # type: ignore[attr-defined]


def _filtered(batches: Iterator[pa.RecordBatch], conditions: Sequence[Filter]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.compute as pc

    for batch in batches:
        column, mask = batch.column("timestamp"), None
        for condition in conditions:
            value = pa.scalar(condition.value, column.type)  # type: ignore[attr-defined]
            matching = pc.call_function(_COMPUTE[type(condition)], [column, value])
            mask = matching if mask is None else pc.and_(mask, matching)
        yield batch.filter(mask)


def _column(condition: Filter) -> str:
    if isinstance(condition, Not):
        return _column(condition.child)
    path: tuple[str, ...] = getattr(condition, "attribute", ())
    return path[0] if len(path) == 1 else ""


def _is_exact(column: str, condition: Filter) -> bool:
    """Whether the source can apply a filter exactly."""
    if isinstance(condition, IsNotNull):
        return True
    if column in ("topic", "partition"):
        inner = condition.child if isinstance(condition, Not) else condition
        kind = str if column == "topic" else int
        value = getattr(inner, "value", None)
        values = value if isinstance(inner, In) else (value,)
        return type(inner) in _TESTS and values is not None and all(isinstance(each, kind) for each in values)
    if not isinstance(condition, _BOUNDS):
        return False
    if column == "offset":
        return isinstance(condition.value, int)
    return isinstance(condition.value, datetime) and condition.value.tzinfo is not None


def _bounds(condition: Filter) -> tuple[int | None, int | None]:
    """The smallest and largest value (an offset, or microseconds) that a filter accepts; None: there is no limit."""
    if isinstance(condition, IsNotNull):
        return None, None
    value = condition.value  # type: ignore[attr-defined]
    number = (value - _EPOCH) // timedelta(microseconds=1) if isinstance(value, datetime) else int(value)
    if isinstance(condition, EqualTo):
        return number, number
    if isinstance(condition, GreaterThan | GreaterThanOrEqual):
        return number + isinstance(condition, GreaterThan), None
    return None, number - isinstance(condition, LessThan)
