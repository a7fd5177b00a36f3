"""The batches of a chunk that concern transactions, as a table: all that is needed to follow the transactions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from octavo.format.batches.control import ControlType, control_type_id
from octavo.format.batches.decoder import Decoder
from octavo.kernels.layout import CONTROL, TRANSACTIONAL, Column
from octavo.storage.cleaner.transactions import CleanedTransactions

if TYPE_CHECKING:
    from typing_extensions import Buffer

# `row` is the batch's in its chunk; `type` that of the control record, or one of the two below.
EVENT = np.dtype([("last_offset", "<i8"), ("producer_id", "<i8"), ("row", "<i4"), ("type", "<i4")])
_DATA = -3
_EMPTY = -2  # a control batch whose record compaction has taken


def transaction_events(data: Buffer, table: NDArray[np.void]) -> NDArray[np.void]:
    """A row of `EVENT` for each transactional or control batch."""
    attributes = table["attributes"]
    rows = np.flatnonzero((attributes & (TRANSACTIONAL | CONTROL) != 0) & (table["magic"] >= 2))
    events = np.empty(len(rows), EVENT)
    if len(rows):
        found = table[rows]
        events["last_offset"] = found["base_offset"] + found["last_offset_delta"]
        events["producer_id"], events["row"], events["type"] = found["producer_id"], rows, _DATA
        is_control = found["attributes"] & CONTROL != 0
        if is_control.any():
            events["type"][is_control] = _control_types(data, found[is_control])
    return events


def discardable(transactions: CleanedTransactions, events: NDArray[np.void]) -> Iterator[tuple[int, bool]]:
    """Let transactions pass through: each batch's row, and whether nothing of the batch is needed any more."""
    for last_offset, producer_id, row, type_id in events.tolist():
        if type_id == _DATA:
            yield row, transactions.on_batch(producer_id, last_offset)
        else:
            control_type = None if type_id == _EMPTY else ControlType(type_id)
            yield row, transactions.on_control(producer_id, last_offset, control_type)


def _control_types(data: Buffer, table: NDArray[np.void]) -> list[int]:
    """What the first record of each control batch says."""
    types = [_EMPTY] * len(table)
    filled = np.flatnonzero(table["count"])
    # Records of batches lie behind one another in the columns.
    firsts = np.concatenate([[0], np.cumsum(np.maximum(table["count"][filled], 0), dtype=np.int64)])
    seen = 0
    for columns in Decoder(Column.KEY).decode(data, table[filled]) if len(filled) else ():
        assert columns.key is not None
        start, end = np.searchsorted(firsts, [seen, seen + columns.rows])
        for slot, record in zip(filled[start:end].tolist(), (firsts[start:end] - seen).tolist(), strict=True):
            key = columns.key.data[columns.key.offsets[record] : columns.key.offsets[record + 1]]
            types[slot] = ControlType(control_type_id(key.tobytes()))
        seen += columns.rows
    return types
