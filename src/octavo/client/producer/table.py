"""`Producer.send_table`: routes rows to partitions, cuts them into batches and appends these, all by columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.client.producer.accumulator import Accumulator
from octavo.client.producer.partitioner import route_rows
from octavo.client.producer.parts import ProducerParts
from octavo.client.producer.queue import PartitionQueue, TopicQueues
from octavo.errors import AppendRejected, KafkaError, UnknownTopicOrPartitionError, no_such_partition
from octavo.format.batches.batch import Origin
from octavo.format.batches.batch_run import BatchEncoder, BatchSettings, RowRange, cut_batches
from octavo.format.compression import Codec
from octavo.kernels.layout import BATCH_OVERHEAD
from octavo.storage.append.append import set_bytes

if TYPE_CHECKING:
    import pyarrow as pa


class AppendedRecords(NamedTuple):
    """Rows that were appended together: `records` of them, from `base_offset` on."""

    topic: str
    partition: int
    base_offset: int
    records: int


class TableSender:
    """Appends tables, one per call, from any thread; a table comes after what was sent record by record.

    An error is raised at once; what was appended before it stays.
    """

    def __init__(self, parts: ProducerParts, accumulator: Accumulator) -> None:
        self._parts = parts
        self._accumulator = accumulator

    def append(self, queues: TopicQueues, data: Any) -> Iterator[AppendedRecords]:
        from octavo.client.producer import arrow  # pyarrow takes long to import

        encoder = BatchEncoder()
        queues.refresh()
        first_row = 0
        for batch in arrow.record_batches(data):
            for queue, rows in self._by_partition(queues, batch, first_row):
                settings, ratio = self._settings(queue), self._parts.ratio(queue.topic)
                for part, table in cut_batches(rows, settings.batch_size, ratio, set_bytes(queue.log.config)):
                    yield self._append_set(queue, part, table, settings, encoder)
            first_row += batch.num_rows

    def _by_partition(
        self, queues: TopicQueues, batch: pa.RecordBatch, first_row: int
    ) -> Iterator[tuple[PartitionQueue, RowRange]]:
        """Each partition's rows, in order."""
        from octavo.client.producer import arrow

        now_ms = self._parts.log_manager.environment.clock.time_ms()
        columns, named = arrow.columns_of(batch, now_ms, first_row), arrow.named_partitions(batch)
        if named is not None:
            _check_partitions(named, queues, first_row)
        ignore_keys = self._parts.config.partitioner_ignore_keys
        partitions, order, ends = route_rows(columns, named, queues.count, queues.spread, ignore_keys=ignore_keys)
        if order is not None:
            columns = arrow.columns_of(arrow.in_order(batch, order), now_ms, first_row)
        first = 0
        for partition, end in zip(partitions, ends.tolist(), strict=True):
            yield queues.queue(partition), RowRange(columns, first, end)
            first = end

    def _settings(self, queue: PartitionQueue) -> BatchSettings:
        """Batches no larger than the topic accepts, so that none has to be split."""
        topic, config = queue.log.config, self._parts.config
        largest = min(config.batch_size, topic.segment_bytes, topic.max_message_bytes)
        return BatchSettings(largest, config.codec, config.level)

    def _append_set(
        self,
        queue: PartitionQueue,
        rows: RowRange,
        table: NDArray[np.void],
        settings: BatchSettings,
        encoder: BatchEncoder,
    ) -> AppendedRecords:
        """Append a set of batches to their partition's log at once."""
        count, unpacked = rows.end - rows.first, int(table["size"].sum(dtype=np.int64)) - BATCH_OVERHEAD * len(table)
        while True:
            self._accumulator.flush(queue)
            with queue.lock:
                if queue.closed:  # another thread closed a batch in the meantime, and sequences are assigned in order
                    continue
                origin = self._parts.origin(queue)
                view = encoder.encode(rows, table, settings, origin)
                base_offset = self._append_view(queue, view, origin, count)
                break
        if settings.codec is not Codec.NONE:
            self._parts.ratios.update(queue.topic, (len(view) - BATCH_OVERHEAD * len(table)) / unpacked)
        return AppendedRecords(queue.topic, queue.partition, base_offset, count)

    def _append_view(self, queue: PartitionQueue, view: memoryview, origin: Origin, count: int) -> int:
        """Append batches with `count` records and return the offset of the first; the queue's lock is held."""
        queue.uncertain = origin.producer_id, origin.producer_epoch  # until the outcome of the append is known
        try:
            result = queue.log.append_as_leader(view, leader_epoch=queue.log.leader_epoch, trusted=True)
        except KafkaError as error:
            error.add_note(str(queue.topic_partition))
            if self._parts.transaction is not None:
                self._parts.transaction.fail(error)
            if isinstance(error, AppendRejected):
                queue.uncertain = None
            raise
        if self._parts.identity.is_idempotent:
            queue.advance_sequence(origin.base_sequence, count)
        queue.uncertain = None
        return result.first_offset


def _check_partitions(named: NDArray[np.int32], queues: TopicQueues, first_row: int) -> None:
    wrong = np.flatnonzero((named < -1) | (named >= queues.count))
    if len(wrong):
        problem = no_such_partition(queues.topic, int(named[wrong[0]]), range(queues.count))
        raise UnknownTopicOrPartitionError(f"row {first_row + wrong[0]}: {problem}")
