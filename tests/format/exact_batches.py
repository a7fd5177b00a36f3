"""Batches made from a header, as compaction leaves them and as no builder would make them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from octavo.format.batches.batch import encode_columns, frame_batch
from octavo.format.batches.header import BatchHeader
from octavo.format.batches.row_columns import from_records
from octavo.format.record import Record
from octavo.kernels import layout

_FLAGS = layout.LOG_APPEND_TIME | layout.TRANSACTIONAL | layout.CONTROL


def encode_batch(header: BatchHeader, records: Sequence[Record]) -> bytes:
    """A batch with exactly this header, except for size, count and CRC, which are computed."""
    return encode_columns(replace(header, count=len(records)), from_records(records))


def empty_batch(header: BatchHeader) -> bytes:
    """A batch that compaction emptied but must keep, for its offsets, producer and sequence."""
    kept = header.attributes & _FLAGS
    return frame_batch(replace(header, attributes=kept, base_timestamp=layout.NO_TIMESTAMP, count=0), b"")
