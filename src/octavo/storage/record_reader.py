"""Records of batches that are being appended, decoded into columns that each thread keeps."""

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
from octavo.format.decoder import Decoder
from octavo.kernels.columns import RecordColumns
from octavo.kernels.layout import Column

# A decoder that a large batch has made larger than this is not kept.
KEPT_BYTES = 16 << 20


class _Decoders(threading.local):
    """A decoder for each set of columns that this thread has asked for."""

    def __init__(self) -> None:
        self.by_columns: dict[int, Decoder] = {}


_decoders = _Decoders()


def read_records(view: memoryview, table: NDArray[np.void], columns: Column) -> Iterator[RecordColumns]:
    """The records of these batches, in one or more fillings of columns; each is good until the next.

    Records that cannot be read are refused as Kafka refuses them; a broken stream of a codec counts as a broken record.
    """
    try:
        yield from _decoder(columns).decode(view, table)
    except CorruptionError as error:
        raise refusal_of(error) from error


def read_batch(view: memoryview, batch: np.void, columns: Column) -> RecordColumns:
    """The records of one batch; they are good until this thread reads again."""
    try:
        return _decoder(columns).decode_one(view, batch)
    except CorruptionError as error:
        raise refusal_of(error) from error


def refusal_of(error: CorruptionError) -> AppendRejected:
    """What a producer is told of records that cannot be read."""
    if isinstance(error, DecompressionLimitError):
        return RecordTooLargeError(str(error))
    if isinstance(error, CorruptRecordError):
        return CorruptBatchError(str(error))
    return InvalidBatchError(str(error))


def _decoder(columns: Column) -> Decoder:
    decoder = _decoders.by_columns.get(columns)
    if decoder is None or decoder.held_bytes > KEPT_BYTES:
        decoder = _decoders.by_columns[columns] = Decoder(columns)
    return decoder
