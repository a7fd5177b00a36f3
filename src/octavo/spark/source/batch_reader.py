"""`spark.read.format("octavo")`: offsets are settled and tasks planned when the query is."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import CaseInsensitiveDict, DataSourceReader, InputPartition

from octavo.errors import ScanError
from octavo.format.names import TopicPartition
from octavo.spark.query.limits import Limit, batch_limits
from octavo.spark.query.options import warn_of
from octavo.spark.query.schema import check_schema
from octavo.spark.query.source_options import SourceOptions
from octavo.spark.query.values import listed
from octavo.spark.source.data_loss import DataLoss
from octavo.spark.source.filters import Pushed
from octavo.spark.source.log_view import LogView, Partitions
from octavo.spark.source.offset_ranges import PartitionRange
from octavo.spark.source.positions import ends, log_ends, starts
from octavo.spark.source.tasks import SourcePartition, plan_tasks

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType

_PUSHDOWN_WORKER = "pyspark.sql.worker.data_source_pushdown_filters"


def batch_reader(options: Mapping[str, str], schema: StructType) -> DataSourceReader:
    """The reader for a query: one that takes filters only where Spark asks it for them.

    Spark refuses a reader with `pushFilters` unless spark.sql.python.filterPushdown.enabled is true, and does not tell
    which it is. But only if it is does it start the worker that pushes filters.
    """
    options = CaseInsensitiveDict(options)
    checked = SourceOptions.of(options)
    check_schema(schema, checked.columns)
    warn_of(options, "batch")
    reader = PushingReader if _is_pushing() else BatchReader
    return reader(checked, *batch_limits(options))


def _is_pushing() -> bool:
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    return _PUSHDOWN_WORKER in sys.modules or (main is not None and main.name == _PUSHDOWN_WORKER)


class BatchReader(DataSourceReader):
    """Reads what is between two limits. Spark pickles it to the tasks after it has planned them."""

    def __init__(self, options: SourceOptions, start: Limit, end: Limit) -> None:
        self._options = options
        self._start = start
        self._end = end
        self._pushed = Pushed()

    def partitions(self) -> list[InputPartition]:
        partitions = LogView(self._options).look(check_topics=True)
        return plan_tasks(self._ranges(partitions), partitions, self._options) or [SourcePartition(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from octavo.spark.source.record_batches import read_batches

        assert isinstance(partition, SourcePartition)
        batches = read_batches(partition.tasks, self._options.columns, self._loss)
        return self._pushed.filter_rows(batches)

    @property
    def _loss(self) -> DataLoss:
        return DataLoss(self._options.fail_on_data_loss)

    def _ranges(self, partitions: Partitions) -> Iterator[PartitionRange]:
        first = starts(self._start, partitions, self._options.on_no_match, log_ends(partitions))
        last = ends(self._end, partitions)
        for name in sorted(partitions):
            start, end = self._within(name, partitions, first[name], last[name])
            yield self._pushed.narrow(PartitionRange(name, start, end), partitions[name].snapshot)

    def _within(self, name: TopicPartition, partitions: Partitions, start: int, end: int) -> tuple[int, int]:
        """The offsets as far as they are there; what is not is a loss."""
        view = partitions[name]
        if start > end:
            raise ScanError(
                f"The resolved start offset {start} is greater than the resolved end offset {end} for topic"
                f" {name.topic} partition {name.partition}."
            )
        if start < end and not (view.start <= start and end <= view.end):
            self._loss.report(
                f"Could not read records in offset [{start}, {end}) for topic partition {listed([name])}, which has"
                f" [{view.start}, {view.end})."
            )
        return max(start, view.start), min(end, view.end)


class PushingReader(BatchReader):
    """Takes filters on topic, partition, offset and timestamp as limits of its own."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        self._pushed, left = Pushed.of(filters)
        return left
