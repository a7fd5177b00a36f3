"""`spark.readStream.format("octavo")`: micro-batches between offsets, which Spark's checkpoint keeps.

One object, in a process of its own, serves a query's driver side for as long as it runs; tasks get a pickled copy that
only reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import CaseInsensitiveDict, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from octavo.format.names import TopicPartition
from octavo.spark.query.schema import check_schema
from octavo.spark.query.source_options import SourceOptions
from octavo.spark.query.stream_options import StreamOptions, warn_of_stream
from octavo.spark.query.values import Offsets, from_nested, to_nested
from octavo.spark.source.byte_positions import bytes_between, offset_reached
from octavo.spark.source.data_loss import DataLoss
from octavo.spark.source.log_view import LogView, Partitions
from octavo.spark.source.micro_batch import backlog, limit_bytes, limit_offsets, must_wait, ranges_between
from octavo.spark.source.positions import starts
from octavo.spark.source.tasks import SourcePartition, plan_tasks
from octavo.system.clock import Clock, SystemClock

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

Nested = dict[str, Any]


def stream_reader(options: Mapping[str, str], schema: StructType) -> StreamReader:
    """The reader of a query with these options."""
    options = CaseInsensitiveDict(options)
    checked, stream = SourceOptions.of(options), StreamOptions.of(options)
    check_schema(schema, checked.columns)
    warn_of_stream(options)
    return StreamReader(checked, stream)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the subscribed partitions, also those that appear while it runs, from their first offset on."""

    def __init__(self, options: SourceOptions, stream: StreamOptions, clock: Clock | None = None) -> None:
        self._options = options
        self._stream = stream
        self._clock = clock or SystemClock()
        self._view = LogView(options)
        self._partitions: Partitions = {}
        self._latest: Offsets = {}
        self._ends_by_itself = False  # Trigger.AvailableNow
        self._target: Offsets | None = None  # where such a query ends
        self._last_batch_ms: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        """For tasks: what they read with, not what the driver has seen."""
        return {**self.__dict__, "_view": None, "_partitions": {}, "_latest": {}, "_target": None}

    def initialOffset(self) -> Nested:
        self._look(check_topics=True)
        return to_nested(starts(self._stream.start, self._partitions, self._options.on_no_match, self._latest))

    def getDefaultReadLimit(self) -> ReadLimit:
        """Not to read all: which limits there are, the options say. A read limit of Spark has room for one."""
        admission = self._stream.admission
        if admission.max_offsets is not None:
            return ReadMaxRows(admission.max_offsets)
        if admission.max_bytes is not None:
            return ReadMaxBytes(admission.max_bytes)
        if admission.min_offsets is not None:
            return ReadMinRows(admission.min_offsets)
        return ReadAllAvailable()

    def latestOffset(self, start: Nested, limit: ReadLimit) -> Nested:
        self._look()
        known = from_nested(start)
        ends = self._ends(known)
        if isinstance(limit, ReadAllAvailable) or not self._stream.admission.is_limited:
            return to_nested(ends)
        return to_nested(known if self._waits(known, ends) else self._admitted(known, ends))

    def reportLatestOffset(self) -> Nested | None:
        return to_nested(self._latest) or None

    def prepareForTriggerAvailableNow(self) -> None:
        """The query ends where its first micro-batch finds the logs' ends.

        Not where they are now: Spark asks for the initial offset after this, which must not be behind the end.
        """
        self._ends_by_itself = True

    def partitions(self, start: Nested, end: Nested) -> list[InputPartition]:
        first, last = from_nested(start), from_nested(end)
        if first == last:
            return []
        if not self._covers(last):
            self._look()  # after a restart a batch of the checkpoint is planned before anything was looked at
        ranges = ranges_between(first, last, self._partitions, DataLoss(self._options.fail_on_data_loss))
        return plan_tasks(ranges, self._partitions, self._options)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from octavo.spark.source.record_batches import read_batches

        assert isinstance(partition, SourcePartition)
        return read_batches(partition.tasks, self._options.columns, DataLoss(self._options.fail_on_data_loss))

    def commit(self, end: Nested) -> None:
        """Nothing: a log is not consumed by reading it."""

    def stop(self) -> None:
        """Nothing: no file is open between the calls."""

    def _look(self, *, check_topics: bool = False) -> None:
        self._partitions = self._view.look(check_topics=check_topics)
        self._latest = {
            name: view.committed_end if self._stream.to_high_watermark else view.end
            for name, view in self._partitions.items()
        }

    def _ends(self, known: Offsets) -> Offsets:
        if self._target is not None:
            return self._target
        ends = {name: self._end(name, known) for name in self._partitions}
        if self._ends_by_itself:
            self._target = ends
        return ends

    def _end(self, name: TopicPartition, known: Offsets) -> int:
        """A partition's end now. A high watermark that went back, as after a broker's crash, takes nothing back."""
        latest = self._latest[name]
        return max(latest, min(known.get(name, latest), self._partitions[name].end))

    def _covers(self, ends: Offsets) -> bool:
        return all(name in self._partitions and self._partitions[name].end >= end for name, end in ends.items())

    def _waits(self, known: Offsets, ends: Offsets) -> bool:
        """Whether there is too little yet for a micro-batch. A query that ends does not wait."""
        admission = self._stream.admission
        if admission.min_offsets is None or self._ends_by_itself:
            return False
        now = self._clock.monotonic_ms()
        if self._last_batch_ms is not None and must_wait(
            backlog(known, ends), admission.min_offsets, now - self._last_batch_ms, admission.max_trigger_delay_ms
        ):
            return True
        self._last_batch_ms = now
        return False

    def _admitted(self, known: Offsets, ends: Offsets) -> Offsets:
        """As far as the limits let a micro-batch go. What is gone, or goes back, is left to the planning."""
        present = {name: end for name, end in ends.items() if name in self._partitions}
        begins = {name: max(known.get(name, 0), self._partitions[name].start) for name in present}
        admission = self._stream.admission
        if admission.max_offsets is not None:
            present = limit_offsets(admission.max_offsets, begins, present)
        if admission.max_bytes is not None:
            present = limit_bytes(admission.max_bytes, begins, present, self._bytes_between, self._offset_reached)
        return {**ends, **present}

    def _bytes_between(self, name: TopicPartition, start: int, end: int) -> int:
        return bytes_between(self._partitions[name].snapshot, start, end)

    def _offset_reached(self, name: TopicPartition, start: int, end: int, size: int) -> int:
        return offset_reached(self._partitions[name].snapshot, start, end, size)
