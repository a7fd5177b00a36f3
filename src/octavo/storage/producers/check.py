"""What an append would change in the state of its producers: checked by the rules, or simply replicated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.errors import InvalidBatchError, UnforeseenBatchError
from octavo.format.batches.control import ControlType
from octavo.format.batches.marker_table import decode_markers
from octavo.format.sequence import MAX_SEQUENCE
from octavo.kernels import layout
from octavo.kernels.producers import CACHED_BATCHES, NONE
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.producers.entry import CachedBatch, ProducerStateEntry
from octavo.storage.producers.rules import DataBatch, ProducerAppendInfo, ProducerUpdate, TxnMarker
from octavo.storage.producers.table import ProducerTable
from octavo.storage.producers.transactions import CompletedTxn

if TYPE_CHECKING:
    from typing_extensions import Buffer

SEQUENCES = MAX_SEQUENCE + 1
# The last five are fields of `DataBatch`, in its order.
_FIELDS = ["producer_id", "attributes", "producer_epoch", "base_offset", "last_offset_delta", "base_sequence"]
_FIELDS += ["max_timestamp"]
_COMPLETED = ["producer_id", "first_offset", "offset", "type"]


class ProducerAppend(NamedTuple):
    """What an append changes in the state of producers once it is written.

    If there is a `duplicate`, nothing may be written: the append is answered with that batch's offsets and timestamp.
    `continued` are batches that simply continue what their producer sent before.
    """

    updates: Sequence[ProducerUpdate] = ()
    completed: Sequence[CompletedTxn] = ()
    duplicate: CachedBatch | None = None
    continued: NDArray[np.void] | None = None


NO_PRODUCERS = ProducerAppend()


def check_producers(
    producers: ProducerTable,
    data: Buffer,
    table: NDArray[np.void],
    origin: AppendOrigin,
    transaction_version: int | None = None,
) -> ProducerAppend:
    """`ProducerStateManager.check` for every origin except replication: producers must follow the rules."""
    table = table[table["producer_id"] > layout.NO_PRODUCER_ID]
    markers = _markers(data, table, transaction_version)
    infos: dict[int, ProducerAppendInfo] = {}
    completed = []
    followers = table[:0]
    if origin is AppendOrigin.CLIENT and len(table) > CACHED_BATCHES + 1 and is_one_run(table):
        table, followers = table[:1], table[-CACHED_BATCHES:]
    for producer_id, attributes, *fields in table[_FIELDS].tolist():
        batch = DataBatch(bool(attributes & layout.TRANSACTIONAL), *fields)
        info = infos.get(producer_id)
        if info is None:
            current = producers.get(producer_id) or ProducerStateEntry(producer_id)
            info = infos[producer_id] = ProducerAppendInfo(current, origin)
        if origin is AppendOrigin.CLIENT:
            duplicate = info.find_duplicate(batch)
            if duplicate is not None:
                return ProducerAppend(duplicate=duplicate)
        info.check_transaction(batch)
        if not attributes & layout.CONTROL:
            info.add_batch(batch)
        elif (marker := next(markers)) is not None and (ended := info.end_transaction(batch.epoch, marker)) is not None:
            completed.append(ended)
    for producer_id, attributes, *fields in followers[_FIELDS].tolist():
        infos[producer_id].follow(DataBatch(bool(attributes & layout.TRANSACTIONAL), *fields))
    return ProducerAppend([info.update() for info in infos.values()], completed)


def replicate_producers(producers: ProducerTable, data: Buffer, table: NDArray[np.void]) -> ProducerAppend:
    """`ProducerStateManager.check` for replication: the leader checked the batches, so they are only replayed, onto a
    separate table.
    """
    beside = ProducerTable()
    _, ended, damage = beside.replay(data, table, known=producers)
    if damage is not None:
        raise InvalidBatchError(damage.problem) from damage
    completed = [
        CompletedTxn(producer_id, first_offset, last_offset, kind == ControlType.ABORT)
        for producer_id, first_offset, last_offset, kind in ended[_COMPLETED].tolist()
    ]
    return ProducerAppend([_update(producers, updated, completed) for updated in beside], completed)


def _update(producers: ProducerTable, updated: ProducerStateEntry, completed: list[CompletedTxn]) -> ProducerUpdate:
    current = producers.get(updated.producer_id) or ProducerStateEntry(updated.producer_id)
    firsts = [txn.first_offset for txn in completed if txn.producer_id == updated.producer_id]
    if updated.current_txn_first_offset is not None:
        firsts.append(updated.current_txn_first_offset)
    return ProducerUpdate(current, updated, [first for first in firsts if first != current.current_txn_first_offset])


def is_one_run(table: NDArray[np.void]) -> bool:
    """Whether all are data batches of one producer and epoch, with consecutive sequences.

    Then only the first needs to be checked, and only the last ones are remembered.
    """
    first, flags = table[0], table["attributes"] & (layout.TRANSACTIONAL | layout.CONTROL)
    if flags[0] & layout.CONTROL or (flags != flags[0]).any() or table["base_sequence"].min() < 0:
        return False
    following = (table["base_sequence"][:-1].astype(np.int64) + table["last_offset_delta"][:-1] + 1) % SEQUENCES
    return bool(
        (table["producer_id"] == first["producer_id"]).all()
        and (table["producer_epoch"] == first["producer_epoch"]).all()
        and (table["base_sequence"][1:] == following).all()
    )


def _markers(data: Buffer, table: NDArray[np.void], transaction_version: int | None) -> Iterator[TxnMarker | None]:
    """The marker of each control batch, None for an empty one; raises at the first damaged one."""
    markers, _, damage = decode_markers(data, table)
    for marker in markers:
        if marker["type"] == NONE:
            yield None
            continue
        if transaction_version is None:
            raise UnforeseenBatchError(
                "a marker without a transaction version, expected the one that its coordinator sent"
            )
        offset, timestamp = int(marker["offset"]), int(marker["timestamp"])
        is_abort = bool(marker["type"] == ControlType.ABORT)
        yield TxnMarker(offset, timestamp, int(marker["coordinator_epoch"]), is_abort, transaction_version)
    if damage is not None:
        raise InvalidBatchError(damage.problem) from damage
