"""Assigns offsets, leader epoch and time to v2 batches whose records stay as the producer encoded them."""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.format.batches.batch_row import batch_row
from octavo.format.batches.batch_summary import BatchSummary
from octavo.format.compression import Codec
from octavo.format.record import TimestampType
from octavo.kernels import layout
from octavo.kernels.integers import INT64_MAX
from octavo.kernels.layout import Column
from octavo.storage.append.append_info import AppendInfo
from octavo.storage.append.assignment import Assignment, WritableBatches
from octavo.storage.append.record_checks import check_records
from octavo.storage.append.record_reader import read_batch

# The columns to read: (are record offsets needed, are keys needed) → columns.
_COLUMNS = {
    (False, False): Column.TIMESTAMP,
    (False, True): Column.TIMESTAMP | Column.KEY,
    (True, False): Column.TIMESTAMP | Column.OFFSET,
    (True, True): Column.TIMESTAMP | Column.OFFSET | Column.KEY,
}


def keeps_codec(table: NDArray[np.void], codec: Codec) -> bool:
    """Whether all batches have the topic's codec. Uncompressed control batches count as if they had it, since control
    batches are never compressed."""
    attributes = table["attributes"]
    codecs = attributes & layout.CODEC_MASK
    plain_control = attributes & (layout.CODEC_MASK | layout.CONTROL) == layout.CONTROL
    return bool(((codecs == int(codec)) | plain_control).all())


def headers_suffice(summary: BatchSummary, assignment: Assignment) -> bool:
    """Whether the headers, if correct, show that the topic accepts all records."""
    settings = assignment.settings
    if settings.is_compacted or summary.attributes & layout.LOG_APPEND_TIME:
        return False
    if settings.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return True
    in_time = summary.max_timestamp - assignment.now_ms <= settings.timestamp_after_max_ms
    return in_time and settings.timestamp_before_max_ms == INT64_MAX


def check_in_place(
    view: memoryview, table: NDArray[np.void], assignment: Assignment, *, trusted: bool
) -> array[int] | None:
    """Check the records; returns each batch's largest timestamp, or None if records are not numbered 0, 1, 2, …

    Kafka looks at these numbers only if the batch or the topic has a codec, and then tries to rebuild wrongly numbered
    batches; otherwise it leaves them alone. The numbers of trusted batches are not checked.
    """
    settings = assignment.settings
    max_timestamps = array("q")
    for row in range(len(table)):
        batch = batch_row(table, row)
        with_codec = batch.codec_id != Codec.NONE or settings.codec not in (None, Codec.NONE)
        is_numbered = with_codec and not trusted
        columns = read_batch(view, table[row], _COLUMNS[is_numbered, settings.is_compacted])
        max_timestamps.append(check_records(columns, batch.claims_append_time, assignment))
        if is_numbered and not np.array_equal(columns.offset[: columns.rows], np.arange(columns.rows)):
            return None
    return max_timestamps


def assign_in_place(
    view: memoryview, info: AppendInfo, max_timestamps: array[int] | None, assignment: Assignment
) -> WritableBatches:
    """Change the headers of the batches, and the table with them; a read-only buffer is copied first.

    `max_timestamps` holds each batch's largest timestamp; None if the headers are right about it.
    """
    table = info.table
    if view.readonly:
        view = memoryview(bytearray(view))
        table = np.frombuffer(bytearray(table.tobytes()), layout.BATCH)  # ten times as fast as table.copy()
    appended = assignment.log_append_time
    if appended is not None:
        max_timestamps, largest = array("q", [appended]) * len(table), appended
    else:
        largest = info.summary.max_timestamp if max_timestamps is None else max(max_timestamps)
    next_offset = kernels.stamp_batches(
        view, table, assignment.first_offset, assignment.leader_epoch, appended is not None, max_timestamps
    )
    log_append_time = layout.NO_TIMESTAMP if appended is None else appended
    with_producers = info.summary.with_producers
    return WritableBatches(
        view, table, assignment.first_offset, next_offset - 1, largest, with_producers, log_append_time
    )
