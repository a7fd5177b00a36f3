"""`spark.read.format("octavo")`: offsets and tasks are fixed when the query is planned."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import CaseInsensitiveDict, DataSourceReader, InputPartition

from octavo.errors import ScanError
from octavo.spark.query.limits import Limit, batch_limits
from octavo.spark.query.options import warn_of
from octavo.spark.query.schema import check_schema
from octavo.spark.query.source_options import SourceOptions
from octavo.spark.short_errors import short_errors, short_errors_in
from octavo.spark.source.data_loss import SourceFindings
from octavo.spark.source.filters import Pushed
from octavo.spark.source.log_view import LogView, Snapshots, range_within
from octavo.spark.source.offset_ranges import PartitionRange
from octavo.spark.source.positions import ends, log_ends, starts
from octavo.spark.source.tasks import SourcePartition, plan_tasks, reporting

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType

_PUSHDOWN_WORKER = "pyspark.sql.worker.data_source_pushdown_filters"


def batch_reader(options: Mapping[str, str], schema: StructType) -> DataSourceReader:
    """The reader for a query. It accepts filters only if Spark pushes them.

    Spark refuses a reader with `pushFilters` unless spark.sql.python.filterPushdown.enabled is true, and does not say
    whether it is. But only then does it start the worker that pushes filters.
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
    """Reads what lies between two limits. Spark pickles it for the tasks once they are planned."""

    def __init__(self, options: SourceOptions, start: Limit, end: Limit) -> None:
        self._options = options
        self._start = start
        self._end = end
        self._pushed = Pushed()

    @short_errors
    def partitions(self) -> list[InputPartition]:
        partitions = LogView(self._options).look(check_topics=True)
        planned = plan_tasks(self._ranges(partitions), partitions, self._options)
        return reporting(planned or [SourcePartition(())])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from octavo.spark.source.record_batches import read_batches

        assert isinstance(partition, SourcePartition)
        return short_errors_in(self._pushed.filter_rows(read_batches(partition, self._options)))

    def _ranges(self, partitions: Snapshots) -> Iterator[PartitionRange]:
        findings = SourceFindings(self._options)
        first = starts(self._start, partitions, self._options.on_no_match, log_ends(partitions), findings)
        last = ends(self._end, partitions, findings)
        for topic_partition in sorted(partitions):
            snapshot, start, end = partitions[topic_partition], first[topic_partition], last[topic_partition]
            if start > end:
                raise ScanError(
                    f"The resolved start offset {start} is greater than the resolved end offset {end} for topic"
                    f" {topic_partition.topic} partition {topic_partition.partition}."
                )
            findings.take(snapshot.notes_up_to(end))
            yield self._pushed.narrow(range_within(snapshot, start, end, findings), snapshot)


class PushingReader(BatchReader):
    """Narrows what it reads by filters on topic, partition, offset and timestamp."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        self._pushed, left = Pushed.of(filters)
        return left
