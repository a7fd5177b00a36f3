"""Appending a table's batches to the logs, set by set, behind what was sent record by record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from octavo.client.producer.accumulator import Accumulator
from octavo.client.producer.encode import Stamp
from octavo.client.producer.parts import ProducerParts
from octavo.client.producer.queue import PartitionQueue
from octavo.client.producer.table import (
    AppendedRecords,
    BatchForm,
    EncodeBuffer,
    RowRange,
    RowSource,
    cut,
    encode,
    rows_by_partition,
)
from octavo.client.producer.topic_queues import TopicQueues
from octavo.errors import AppendRejected, KafkaError
from octavo.format.compression import Codec
from octavo.kernels.layout import BATCH_OVERHEAD
from octavo.storage.append.set_bytes import set_bytes


class TableSender:
    """One call a table, by several threads too. An error is raised at once: what came before it is appended."""

    def __init__(self, parts: ProducerParts, accumulator: Accumulator) -> None:
        self._parts = parts
        self._accumulator = accumulator

    def append(self, queues: TopicQueues, data: Any) -> Iterator[AppendedRecords]:
        from octavo.client.producer import arrow  # pyarrow takes long to import

        buffer, clock = EncodeBuffer(), self._parts.environment.clock
        ignore_keys = self._parts.config.partitioner_ignore_keys
        queues.refresh()
        first_row = 0
        for batch in arrow.record_batches(data):
            source = RowSource(batch, first_row, clock.time_ms())
            first_row += batch.num_rows
            for queue, rows in rows_by_partition(source, queues, ignore_keys=ignore_keys):
                for part, table in cut(rows, form := self._form(queue)):
                    yield self._append_set(queue, part, table, form, buffer)

    def _form(self, queue: PartitionQueue) -> BatchForm:
        """Batches as the topic takes them: splitting is for producers that cannot know."""
        topic, config = queue.log.config, self._parts.config
        largest = min(config.batch_size, topic.segment_bytes, topic.max_message_bytes)
        return BatchForm(largest, set_bytes(topic), config.codec, config.level, self._parts.ratio(queue.topic))

    def _append_set(
        self, queue: PartitionQueue, rows: RowRange, table: NDArray[np.void], form: BatchForm, buffer: EncodeBuffer
    ) -> AppendedRecords:
        count, unpacked = rows.end - rows.first, int(table["size"].sum(dtype=np.int64)) - BATCH_OVERHEAD * len(table)
        while True:
            self._accumulator.flush(queue)
            with queue.lock:
                if queue.closed:  # of another thread, meanwhile: sequences are given in order
                    continue
                stamp = self._parts.stamp(queue)
                view = encode(rows, table, form, stamp, buffer)
                base_offset = self._append_view(queue, view, stamp, count)
                break
        if form.codec is not Codec.NONE:
            self._parts.ratios.update(queue.topic, (len(view) - BATCH_OVERHEAD * len(table)) / unpacked)
        return AppendedRecords(queue.topic, queue.partition, base_offset, count)

    def _append_view(self, queue: PartitionQueue, view: memoryview, stamp: Stamp, count: int) -> int:
        """Append batches of so many records; the queue's lock is held."""
        queue.uncertain = stamp.producer_id, stamp.producer_epoch  # until it is known what became of the append
        try:
            result = queue.log.append_as_leader(view, leader_epoch=queue.log.leader_epoch, trusted=True)
        except KafkaError as error:
            error.add_note(str(queue.name))
            if self._parts.transaction is not None:
                self._parts.transaction.fail(error)
            if isinstance(error, AppendRejected):
                queue.uncertain = None
            raise
        if self._parts.identity.is_idempotent:
            queue.advance_sequence(stamp.base_sequence, count)
        queue.uncertain = None
        return result.first_offset
