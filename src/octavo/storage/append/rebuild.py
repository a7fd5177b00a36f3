"""Encodes v2 batches again: because the topic's codec differs from theirs, or to number their records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from octavo.errors import EncodingError, UnforeseenBatchError
from octavo.format.batches.batch import Origin, build_columns
from octavo.format.batches.batch_row import BatchRow, batch_rows
from octavo.format.batches.walker import walk
from octavo.format.compression import Codec
from octavo.kernels import layout
from octavo.kernels.columns import RecordColumns
from octavo.kernels.layout import Column
from octavo.storage.append.append_info import check_size
from octavo.storage.append.assignment import Assignment, WritableBatches
from octavo.storage.append.record_checks import check_records
from octavo.storage.append.record_reader import read_batch

if TYPE_CHECKING:
    from typing_extensions import Buffer


def rebuild(view: memoryview, table: NDArray[np.void], codec: Codec, assignment: Assignment) -> WritableBatches:
    """Encode each batch again: check, number and compress its records; drop batches without records."""
    built, next_offset = [], assignment.first_offset
    for row, batch in enumerate(batch_rows(table)):
        columns = read_batch(view, table[row], Column.ALL)
        check_records(columns, batch.claims_append_time, assignment)
        columns.offset[: columns.rows] = np.arange(next_offset, next_offset + columns.rows)
        built.append(_build(columns, batch, codec, assignment))
        next_offset += columns.rows
    return built_set(b"".join(built), assignment)


def built_set(data: Buffer, assignment: Assignment) -> WritableBatches:
    """The result for re-encoded batches; raises RecordTooLargeError if one is too large now."""
    found = walk(data)
    batches = list(batch_rows(found.table))
    for batch in batches:
        check_size(batch, assignment.settings.max_message_bytes)
    appended = assignment.log_append_time
    return WritableBatches(
        found.data,
        found.table,
        assignment.first_offset,
        last_offset=batches[-1].last_offset if batches else assignment.first_offset - 1,
        max_timestamp=max((batch.max_timestamp for batch in batches), default=layout.NO_TIMESTAMP),
        with_producers=any(batch.producer_id > layout.NO_PRODUCER_ID for batch in batches),
        log_append_time=layout.NO_TIMESTAMP if appended is None else appended,
    )


def _build(columns: RecordColumns, batch: BatchRow, codec: Codec, assignment: Assignment) -> bytes:
    origin = Origin(
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        is_transactional=batch.attributes & layout.TRANSACTIONAL != 0,
    )
    try:
        if not columns.rows:
            origin.check()  # Kafka's builder still checks the producer, and fails with LogAppendTime
            if assignment.log_append_time is not None:
                raise EncodingError("a batch without records cannot have LogAppendTime")
            return b""
        return build_columns(columns, assignment.traits(codec, origin))
    except EncodingError as error:
        raise UnforeseenBatchError(f"{batch} cannot be rebuilt: {error}") from error
