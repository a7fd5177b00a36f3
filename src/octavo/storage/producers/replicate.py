"""The change that a replicated append makes: its batches passed the rules where they were first written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from octavo.errors import InvalidBatchError
from octavo.format.batches.control import ControlType
from octavo.storage.producers.check import ProducerAppend
from octavo.storage.producers.entry import ProducerStateEntry
from octavo.storage.producers.rules import ProducerUpdate
from octavo.storage.producers.table import ProducerTable
from octavo.storage.producers.transactions import CompletedTxn

if TYPE_CHECKING:
    from typing_extensions import Buffer


_COMPLETED = ["producer_id", "first_offset", "offset", "type"]


def replicate_producers(producers: ProducerTable, data: Buffer, table: NDArray[np.void]) -> ProducerAppend:
    """`ProducerStateManager.check` for replication: the batches are replayed beside the table of producers."""
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
