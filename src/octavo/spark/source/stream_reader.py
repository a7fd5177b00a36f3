"""`spark.readStream.format("octavo")`: micro-batches between offsets, which Spark keeps in its checkpoint.

One object, in its own process, serves the driver as long as a query runs. Tasks get a pickled copy of another one,
which only reads: what the driver's object knows reaches them in the input partitions alone.
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
from octavo.spark.query.values import PartitionOffsets, from_nested, to_nested
from octavo.spark.short_errors import short_errors, short_errors_in
from octavo.spark.source.broker_commits import BrokerCommits
from octavo.spark.source.byte_positions import bytes_between, offset_reached
from octavo.spark.source.data_loss import SourceFindings
from octavo.spark.source.group_commits import GroupCommits
from octavo.spark.source.log_view import LogView, Snapshots, committed_end
from octavo.spark.source.micro_batch import backlog, limit_bytes, limit_offsets, must_wait, ranges_between
from octavo.spark.source.positions import starts
from octavo.spark.source.tasks import SourcePartition, plan_tasks, reporting
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
    """Reads the subscribed partitions; partitions that appear while it runs are read from their first offset on."""

    def __init__(self, options: SourceOptions, stream: StreamOptions, clock: Clock | None = None) -> None:
        self._options = options
        self._stream = stream
        self._clock = clock or SystemClock()
        self._group: GroupCommits | BrokerCommits | None = None
        self._committed: PartitionOffsets = {}
        if stream.commit_group is not None and stream.commit_servers:
            self._group = BrokerCommits(stream.commit_group, stream.commit_servers, stream.lock_timeout_seconds)
        elif stream.commit_group is not None:
            self._group = GroupCommits.of(stream.commit_group, options.paths, stream.lock_timeout_seconds)
        self._view = LogView(options)
        self._partitions: Snapshots = {}
        self._latest: PartitionOffsets = {}
        self._ends_by_itself = False  # Trigger.AvailableNow
        self._target: PartitionOffsets | None = None  # where such a query ends
        self._last_batch_ms: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What tasks need to read."""
        return {**self.__dict__, "_view": None, "_partitions": {}, "_latest": {}, "_target": None}

    @short_errors
    def initialOffset(self) -> Nested:
        self._look(check_topics=True)
        findings = SourceFindings(self._options)
        return to_nested(
            starts(self._stream.start, self._partitions, self._options.on_no_match, self._latest, findings)
        )

    def getDefaultReadLimit(self) -> ReadLimit:
        """One of the limits that the options set, because Spark's read limit cannot name several."""
        admission = self._stream.admission
        if admission.max_offsets is not None:
            return ReadMaxRows(admission.max_offsets)
        if admission.max_bytes is not None:
            return ReadMaxBytes(admission.max_bytes)
        if admission.min_offsets is not None:
            return ReadMinRows(admission.min_offsets)
        return ReadAllAvailable()

    @short_errors
    def latestOffset(self, start: Nested, limit: ReadLimit) -> Nested:
        self._look()
        known = from_nested(start)
        self._commit(known)  # Spark itself does not commit the last micro-batch of a query that ends
        ends = self._ends(known)
        if isinstance(limit, ReadAllAvailable) or not self._stream.admission.is_limited:
            return to_nested(ends)
        return to_nested(known if self._waits(known, ends) else self._admitted(known, ends))

    def reportLatestOffset(self) -> Nested | None:
        return to_nested(self._latest) or None

    def prepareForTriggerAvailableNow(self) -> None:
        """Set the query to end where its first micro-batch finds the ends of the logs.

        Not where they are now: Spark asks for the initial offset later, and that must not lie beyond the end.
        """
        self._ends_by_itself = True

    @short_errors
    def partitions(self, start: Nested, end: Nested) -> list[InputPartition]:
        first, last = from_nested(start), from_nested(end)
        if first == last:
            return []
        if not self._covers(last):
            self._look()  # after a restart, a batch of the checkpoint is planned before the first look
        ranges = ranges_between(first, last, self._partitions, SourceFindings(self._options))
        return reporting(plan_tasks(ranges, self._partitions, self._options))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from octavo.spark.source.record_batches import read_batches

        assert isinstance(partition, SourcePartition)
        return short_errors_in(read_batches(partition, self._options))

    @short_errors
    def commit(self, end: Nested) -> None:
        """Commit the offsets of commitGroup. Without it there is nothing to do: reading a log does not consume it."""
        self._commit(from_nested(end))

    def stop(self) -> None:
        """Do nothing: no file is open between the calls."""

    def _commit(self, done: PartitionOffsets) -> None:
        """Commit the offsets before which all is done, if they are new. A deleted partition has no lag."""
        done = {
            topic_partition: offset for topic_partition, offset in done.items() if topic_partition in self._partitions
        }
        if self._group is not None and done != self._committed:
            files = {topic_partition.topic: self._partitions[topic_partition].files for topic_partition in done}
            self._group.commit(done, {topic: found.topic_id() for topic, found in files.items()})
            self._committed = done

    def _look(self, *, check_topics: bool = False) -> None:
        self._partitions = self._view.look(check_topics=check_topics)
        self._latest = {
            topic_partition: committed_end(found) if self._stream.to_high_watermark else found.readable_end
            for topic_partition, found in self._partitions.items()
        }

    def _ends(self, known: PartitionOffsets) -> PartitionOffsets:
        if self._target is not None:
            return self._target
        ends = {topic_partition: self._end(topic_partition, known) for topic_partition in self._partitions}
        if self._ends_by_itself:
            self._target = ends
        return ends

    def _end(self, topic_partition: TopicPartition, known: PartitionOffsets) -> int:
        """A partition's current end, not below what was read unless the log lost it: a high watermark may go back after
        a broker's crash."""
        latest = self._latest[topic_partition]
        return max(latest, min(known.get(topic_partition, latest), self._partitions[topic_partition].readable_end))

    def _covers(self, ends: PartitionOffsets) -> bool:
        return all(
            topic_partition in self._partitions and self._partitions[topic_partition].readable_end >= end
            for topic_partition, end in ends.items()
        )

    def _waits(self, known: PartitionOffsets, ends: PartitionOffsets) -> bool:
        """Whether there is too little for a micro-batch yet. A query that ends by itself does not wait."""
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

    def _admitted(self, known: PartitionOffsets, ends: PartitionOffsets) -> PartitionOffsets:
        """How far the limits let a micro-batch go. Partitions that are gone or went back are left to the planning."""
        present = {topic_partition: end for topic_partition, end in ends.items() if topic_partition in self._partitions}
        begins = {
            topic_partition: max(known.get(topic_partition, 0), self._partitions[topic_partition].log_start_offset)
            for topic_partition in present
        }
        admission = self._stream.admission
        if admission.max_offsets is not None:
            present = limit_offsets(admission.max_offsets, begins, present)
        if admission.max_bytes is not None:
            present = limit_bytes(admission.max_bytes, begins, present, self._bytes_between, self._offset_reached)
        return {**ends, **present}

    def _bytes_between(self, topic_partition: TopicPartition, start: int, end: int) -> int:
        return bytes_between(self._partitions[topic_partition], start, end)

    def _offset_reached(self, topic_partition: TopicPartition, start: int, end: int, size: int) -> int:
        return offset_reached(self._partitions[topic_partition], start, end, size)
