"""The check of an append against the state of its producers, batch after batch; it changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from octavo.errors import InvalidBatchError
from octavo.format.control import ControlType
from octavo.format.marker_table import decode_markers
from octavo.kernels import layout
from octavo.kernels.producers import CACHED_BATCHES, NONE
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.producer_append import DataBatch, ProducerAppendInfo, TxnMarker
from octavo.storage.producer_entry import CachedBatch, ProducerStateEntry
from octavo.storage.producer_table import ProducerTable
from octavo.storage.transactions import CompletedTxn

if TYPE_CHECKING:
    from typing_extensions import Buffer

# Those of `DataBatch` last, in its order.
_FIELDS = ["producer_id", "attributes", "producer_epoch", "base_offset", "last_offset_delta", "base_sequence"]
_FIELDS += ["max_timestamp"]


class ProducerAppend(NamedTuple):
    """What an append makes of its producers, once it is written.

    With a `duplicate` nothing is to be written: the append is answered with that batch's offsets and timestamp.
    """

    producers: list[ProducerAppendInfo]
    completed: list[CompletedTxn]
    duplicate: CachedBatch | None = None


def check_producers(
    producers: ProducerTable,
    data: Buffer,
    table: NDArray[np.void],
    origin: AppendOrigin,
    transaction_version: int | None = None,
) -> ProducerAppend:
    """`ProducerStateManager.check` says what it takes and what it raises."""
    table = table[table["producer_id"] > layout.NO_PRODUCER_ID]
    if origin is AppendOrigin.REPLICATION:
        table = table[_leaves_a_trace(table)]
    markers = _markers(data, table, origin, transaction_version)
    infos: dict[int, ProducerAppendInfo] = {}
    completed = []
    for producer_id, attributes, *fields in table[_FIELDS].tolist():
        batch = DataBatch(bool(attributes & layout.TRANSACTIONAL), *fields)
        info = infos.get(producer_id)
        if info is None:
            current = producers.get(producer_id) or ProducerStateEntry(producer_id)
            info = infos[producer_id] = ProducerAppendInfo(current, origin)
        if origin is AppendOrigin.CLIENT:
            duplicate = info.current.find_duplicate(batch.epoch, batch.base_sequence, batch.last_sequence)
            if duplicate is not None:
                return ProducerAppend([], [], duplicate)
        if origin in (AppendOrigin.CLIENT, AppendOrigin.COORDINATOR):
            info.check_transaction(batch)
        if not attributes & layout.CONTROL:
            info.add_batch(batch)
        elif (marker := next(markers)) is not None and (ended := info.end_transaction(marker)) is not None:
            completed.append(ended)
    return ProducerAppend(list(infos.values()), completed)


def _leaves_a_trace(table: NDArray[np.void]) -> NDArray[np.bool_]:
    """Which batches matter where none is checked.

    Of a run of data batches by one producer, of one epoch, all or none of them transactional, that is the first, which
    may begin a transaction, and as many of the last as are cached.
    """
    kept = np.ones(len(table), bool)
    if len(table) > CACHED_BATCHES + 1:
        kinds = table["attributes"] & (layout.TRANSACTIONAL | layout.CONTROL)
        like_next = (kinds[1:] == kinds[:-1]) & (kinds[1:] & layout.CONTROL == 0)
        for name in ("producer_id", "producer_epoch"):
            like_next &= table[name][1:] == table[name][:-1]
        kept[1:-CACHED_BATCHES] = ~sliding_window_view(like_next, CACHED_BATCHES + 1).all(axis=1)
    return kept


def _markers(
    data: Buffer, table: NDArray[np.void], origin: AppendOrigin, transaction_version: int | None
) -> Iterator[TxnMarker | None]:
    """The marker of each control batch, None for one that is empty; raises when it comes to one that is damaged."""
    control = table[table["attributes"] & layout.CONTROL != 0]
    markers, damage = decode_markers(data, control)
    for epoch, marker in zip(control["producer_epoch"].tolist(), markers, strict=False):
        if marker["type"] == NONE:
            yield None
            continue
        if transaction_version is None and origin is not AppendOrigin.REPLICATION:
            raise ValueError("a marker that is not replicated needs the transaction version that came with it")
        offset, timestamp = int(marker["offset"]), int(marker["timestamp"])
        is_abort = bool(marker["type"] == ControlType.ABORT)
        yield TxnMarker(epoch, offset, timestamp, int(marker["coordinator_epoch"]), is_abort, transaction_version or 0)
    if damage is not None:
        raise InvalidBatchError(damage.problem) from damage
