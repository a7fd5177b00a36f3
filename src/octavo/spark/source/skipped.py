"""What queries skipped because it was damaged, collected on the driver: an accumulator of notes.

A Python data source cannot have metrics of its own in Spark, but what tasks add to an accumulator reaches the driver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakSet

from pyspark.accumulators import Accumulator, AccumulatorParam, _accumulatorRegistry

from octavo.errors import IllegalStateError
from octavo.scanner.findings import Note

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The tasks of a data source are not given an accumulator, so they make one with the same id. Spark's own ids count up
# from 0, and its special ones count down from -1.
_ID = -0x0C7A70

_Notes = frozenset[Note]
_collecting: WeakSet[SparkSession] = WeakSet()


class _Union(AccumulatorParam[_Notes]):
    """A place counts once, however often it is read: by another query, or by another attempt at a task."""

    def zero(self, value: _Notes) -> _Notes:
        return frozenset()

    def addInPlace(self, value1: _Notes, value2: _Notes) -> _Notes:
        return value1 | value2


def skipped_notes() -> Accumulator[_Notes]:
    """This process's accumulator: the driver's, or one that Spark sends to the driver at the end of a task."""
    return _accumulatorRegistry.get(_ID) or Accumulator(_ID, frozenset(), _Union())


def collect_skipped(spark: SparkSession) -> None:
    """Make the driver collect what the queries of a session skip from now on."""
    skipped_notes()
    _collecting.add(spark)


def skipped(spark: SparkSession) -> list[Note]:
    """The damaged places that queries of this program have skipped so far (`onDamage` = `skip`), each of them once.

    The list is complete for a batch query that has ended; what a stream finds while planning is added with its next
    micro-batch that has records. Spark reports them only for a source that was registered by `octavo.spark.register`,
    and for `octavo.spark.scan` and `scan_stream`.
    """
    if spark not in _collecting:
        raise IllegalStateError(
            "nothing was collected for this session: call octavo.spark.register(spark) before its queries"
        )
    return sorted(skipped_notes().value)
