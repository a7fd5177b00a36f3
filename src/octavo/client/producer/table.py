"""Whole tables into a topic: rows to partitions, rows to batches, batches to logs, all by columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.client.producer.encode import Stamp
from octavo.client.producer.partitioner import partitions_for_keys
from octavo.client.producer.queue import PartitionQueue
from octavo.client.producer.topic_queues import TopicQueues
from octavo.errors import EncodingError, UnknownTopicOrPartitionError
from octavo.format import sequence
from octavo.format.batches.batch import frame_batch
from octavo.format.batches.header import BatchHeader
from octavo.format.compression import Codec, compress
from octavo.kernels import layout
from octavo.kernels.columns import BinaryColumn, RecordColumns
from octavo.kernels.layout import BATCH, Code

if TYPE_CHECKING:
    import pyarrow as pa

_BATCHES_AT_ONCE = 512
_RECORD_OVERHEAD = 10  # about what length, attributes, deltas and lengths take
_RADIX_PARTITIONS = 1 << 16
_SLACK = 64  # the encoder wants room for the longest length before a record


class AppendedRecords(NamedTuple):
    """Rows that were appended together: so many from this offset on."""

    topic: str
    partition: int
    base_offset: int
    records: int


class BatchForm(NamedTuple):
    """How batches are made: their size, codec, level, the codec's estimated ratio (0 without one); how many at once."""

    batch_size: int
    set_bytes: int
    codec: Codec
    level: int | None
    ratio: float


class RowSource(NamedTuple):
    """A record batch, the number of its first row in all of the data, and the time of rows without one."""

    batch: pa.RecordBatch
    first_row: int
    now_ms: int


class RowRange(NamedTuple):
    """Rows of columns, from `first` up to, not including, `end`."""

    columns: RecordColumns
    first: int
    end: int


def rows_by_partition(
    source: RowSource, queues: TopicQueues, *, ignore_keys: bool
) -> Iterator[tuple[PartitionQueue, RowRange]]:
    """The rows of a record batch, each partition's behind one another and in their order."""
    from octavo.client.producer import arrow  # pyarrow takes long to import

    batch, first_row, now_ms = source
    columns = arrow.columns_of(batch, now_ms, first_row)
    named = arrow.named_partitions(batch)
    if not columns.rows:
        return
    if named is not None:
        _check_partitions(named, queues, first_row)
    if named is None and queues.count == 1:
        yield queues.queue(0), RowRange(columns, 0, columns.rows)
        return
    chosen = _partitions(columns, named, queues, ignore_keys=ignore_keys)
    if queues.count <= _RADIX_PARTITIONS:
        chosen = chosen.astype(np.uint16)  # which numpy sorts by radix
    counts = np.bincount(chosen)
    if counts.max() < columns.rows:
        columns = arrow.columns_of(arrow.in_order(batch, np.argsort(chosen, kind="stable")), now_ms, first_row)
    ends = np.cumsum(counts)
    for number in np.flatnonzero(counts).tolist():
        end = int(ends[number])
        yield queues.queue(number), RowRange(columns, end - int(counts[number]), end)


def _check_partitions(named: NDArray[np.int32], queues: TopicQueues, first_row: int) -> None:
    wrong = np.flatnonzero((named < -1) | (named >= queues.count))
    if len(wrong):
        found = f"row {first_row + wrong[0]}: there is no partition {queues.topic}-{named[wrong[0]]}"
        raise UnknownTopicOrPartitionError(f"{found}, expected 0 to {queues.count - 1}")


def _partitions(
    columns: RecordColumns, named: NDArray[np.int32] | None, queues: TopicQueues, *, ignore_keys: bool
) -> NDArray[np.int32]:
    """The partition of each row: the one that it names, else its key's, else the sticky one."""
    rows = columns.rows
    chosen = np.full(rows, -1, np.int32) if named is None else named.copy()
    open_rows = chosen < 0
    if columns.key is not None and not ignore_keys and open_rows.any():
        keyed = open_rows & _valid(columns.key, rows)
        chosen[keyed] = partitions_for_keys(columns.key, rows, queues.count)[keyed]
        open_rows &= ~keyed
    if open_rows.any():
        sizes = _sizes(columns)[open_rows]
        with queues.lock:
            chosen[open_rows] = queues.sticky.spread(sizes)
    return chosen


def _valid(column: BinaryColumn, rows: int) -> NDArray[np.bool_]:
    if column.validity is None or not column.nulls:
        return np.ones(rows, np.bool_)
    return np.unpackbits(column.validity, count=rows, bitorder="little").astype(np.bool_)


def _sizes(columns: RecordColumns) -> NDArray[np.int64]:
    sizes = np.full(columns.rows, _RECORD_OVERHEAD, np.int64)
    for column in (columns.key, columns.value):
        if column is not None:
            sizes += np.diff(column.offsets[: columns.rows + 1])
    return sizes


class EncodeBuffer:
    """A buffer that is used again and again, and replaced by a longer one when it must be."""

    def __init__(self) -> None:
        self._data = bytearray()

    def room(self, size: int) -> bytearray:
        if len(self._data) < size:
            self._data = bytearray(size)
        return self._data


def cut(rows: RowRange, form: BatchForm) -> Iterator[tuple[RowRange, NDArray[np.void]]]:
    """Rows as batches of at most `set_bytes` together; a larger batch comes alone."""
    columns, row, end = rows
    table = np.zeros(_BATCHES_AT_ONCE, BATCH)
    while row < end:
        count, last = kernels.cut_batches(columns, row, end, table, form.batch_size, form.ratio)
        sizes = np.cumsum(table["size"][:count], dtype=np.int64)
        taken = 0
        while taken < count:
            before = int(sizes[taken - 1]) if taken else 0
            stop = max(int(np.searchsorted(sizes, before + form.set_bytes, "right")), taken + 1)
            batches = table[taken:stop]
            behind = row + int(batches["count"].sum(dtype=np.int64))
            yield RowRange(columns, row, behind), batches
            row, taken = behind, stop
        assert row == last, "a cut that does not add up"


def encode(rows: RowRange, table: NDArray[np.void], form: BatchForm, stamp: Stamp, buffer: EncodeBuffer) -> memoryview:
    """The bytes of batches that `cut` made, good until the buffer is used again."""
    table["base_offset"] = np.cumsum(table["count"], dtype=np.int64) - table["count"] + rows.first
    table["partition_leader_epoch"] = layout.NO_LEADER_EPOCH
    table["attributes"] = form.codec | (layout.TRANSACTIONAL if stamp.is_transactional else 0)
    table["producer_id"], table["producer_epoch"] = stamp.producer_id, stamp.producer_epoch
    table["base_sequence"] = layout.NO_SEQUENCE
    if stamp.base_sequence >= 0:
        deltas = table["base_offset"] - rows.first
        table["base_sequence"] = sequence.record_sequences(stamp.base_sequence, deltas)
    out = buffer.room(int(table["size"].sum(dtype=np.int64)) + _SLACK)
    if form.codec is Codec.NONE:
        code, _, end = kernels.encode_batches(rows.columns, rows.first, table, out, 0)
        _check(code)
        return memoryview(out)[:end]
    return memoryview(bytearray().join(_packed(rows, table, form, out)))


def _packed(rows: RowRange, table: NDArray[np.void], form: BatchForm, out: bytearray) -> Iterator[bytes]:
    row = rows.first
    for batch in table:
        header = BatchHeader.from_row(batch)
        first, row = row, row + header.count
        offsets = header.base_offset, header.base_timestamp
        code, end = kernels.encode_records(rows.columns, first, row, *offsets, out, 0)
        _check(code)
        yield frame_batch(header, compress(form.codec, memoryview(out)[:end], level=form.level))


def _check(code: int) -> None:
    if code != Code.DONE:
        raise EncodingError(f"records that a batch of at most {layout.MAX_FILE_BYTES} bytes cannot hold")
