"""Prepares v0 and v1 message sets for an append: checks them, then converts each set to one v2 batch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from octavo.errors import CorruptBatchError, CorruptionError, EncodingError, InvalidBatchError, UnforeseenBatchError
from octavo.format.batches.batch_row import BatchRow, batch_row
from octavo.format.batches.convert import up_convert
from octavo.format.compression import Codec
from octavo.format.legacy.message import read_messages
from octavo.kernels import layout
from octavo.kernels.layout import Column
from octavo.storage.append.assignment import Assignment, WritableBatches
from octavo.storage.append.rebuild import built_set
from octavo.storage.append.record_checks import Fault, find_faults, null_flags, refusal
from octavo.storage.append.record_reader import read_records, refusal_of


def convert(view: memoryview, table: NDArray[np.void], codec: Codec, assignment: Assignment) -> WritableBatches:
    """One v2 batch with all records: those in a compressed wrapper, or each message of the set."""
    first = batch_row(table, 0)
    others = (table["magic"] != first.magic).nonzero()[0]
    if first.codec_id != Codec.NONE:
        _check_wrapper(view, first, assignment)
    else:
        _check_messages(view, table[: others[0]] if len(others) else table, assignment)
    if len(others):
        other = batch_row(table, others[0])
        raise InvalidBatchError(f"{other} has magic {other.magic}, expected {first.magic} like the set's first")
    try:
        return built_set(up_convert(view, 2, assignment.traits(codec), assignment.first_offset), assignment)
    except CorruptionError as error:
        raise refusal_of(error) from error
    except EncodingError as error:
        raise UnforeseenBatchError(f"a message set that cannot be converted: {error}") from error


def _check_messages(view: memoryview, table: NDArray[np.void], assignment: Assignment) -> None:
    """Check uncompressed messages. Each is a batch of its own, so only the first faulty one is named."""
    claims = (table["magic"] > 0) & (table["attributes"] & layout.LOG_APPEND_TIME != 0)
    row = 0
    for columns in read_records(view, table, Column.TIMESTAMP | Column.KEY):
        timestamps, nulls = columns.timestamp[: columns.rows], null_flags(columns.key, columns.rows)
        faults = find_faults(timestamps, nulls, claims[row : row + columns.rows], assignment)
        if faults:
            raise refusal([faults[0]._replace(row=0)])
        row += columns.rows


def _check_wrapper(view: memoryview, wrapper: BatchRow, assignment: Assignment) -> None:
    """Check a wrapper's messages one by one, since each has its own magic and CRC."""
    faults, timestamps, nulls = [], [], []
    try:
        for row, message in enumerate(read_messages(view[wrapper.position : wrapper.end])):
            if message.magic != wrapper.magic:
                faults.append(Fault(row, f"magic {message.magic}, expected the wrapper's, {wrapper.magic}"))
            elif not message.is_valid:
                raise CorruptBatchError(f"inner message {row} does not match its stored CRC, {message.crc}")
            timestamps.append(message.timestamp)
            nulls.append(message.key_size < 0)
    except CorruptionError as error:
        raise refusal_of(error) from error
    of_another_magic = {fault.row for fault in faults}
    found = find_faults(np.array(timestamps), np.array(nulls), wrapper.claims_append_time, assignment)
    faults = sorted(faults + [fault for fault in found if fault.row not in of_another_magic])
    if faults:
        raise refusal(faults)
