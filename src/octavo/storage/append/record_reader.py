"""Decodes the records of batches being appended, into columns that each thread reuses."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from octavo.errors import (
    AppendRejected,
    CorruptBatchError,
    CorruptionError,
    CorruptRecordError,
    DecompressionLimitError,
    InvalidBatchError,
    RecordTooLargeError,
)
from octavo.format.batches.decoder import Decoder
from octavo.kernels.columns import RecordColumns
from octavo.kernels.layout import Column

# A decoder that has read a larger batch than this is discarded.
KEPT_BYTES = 16 << 20


class _Decoders(threading.local):
    """This thread's decoders, by the columns that they read."""

    def __init__(self) -> None:
        self.by_columns: dict[Column, Decoder] = {}


_decoders = _Decoders()


def read_batch(view: memoryview, batch: np.void, columns: Column) -> RecordColumns:
    """The records of one batch, valid until this thread's next call.

    Records that cannot be read are refused as Kafka refuses them; a broken compressed stream counts as a broken record.
    """
    decoder = _decoders.by_columns.pop(columns, None) or Decoder(columns)
    try:
        found = decoder.decode_one(view, batch)
    except CorruptionError as error:
        raise refusal_of(error) from error
    if decoder.filled_bytes <= KEPT_BYTES:
        _decoders.by_columns[columns] = decoder
    return found


def read_records(view: memoryview, table: NDArray[np.void], columns: Column) -> Iterator[RecordColumns]:
    """The records of many batches, in one or more sets of columns; each set is valid until the next one."""
    try:
        yield from Decoder(columns).decode(view, table)
    except CorruptionError as error:
        raise refusal_of(error) from error


def refusal_of(error: CorruptionError) -> AppendRejected:
    """The error that a producer gets when records cannot be read."""
    if isinstance(error, DecompressionLimitError):
        return RecordTooLargeError(str(error))
    if isinstance(error, CorruptRecordError):
        return CorruptBatchError(str(error))
    return InvalidBatchError(str(error))
