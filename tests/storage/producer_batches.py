"""Batches of producers for tests, and how a partition log appends them."""

from __future__ import annotations

from octavo.format.batches.batch import Origin, build_batch, read_header
from octavo.format.batches.control import ControlType, EndTransactionMarker, build_marker_batch
from octavo.format.batches.walker import walk
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.format.record import Record
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.producers.check import ProducerAppend
from octavo.storage.producers.state import ProducerStateManager
from tests.format.exact_batches import empty_batch

PRODUCER = 7
MAX_SEQUENCE = 2**31 - 1
ABORT, COMMIT = ControlType.ABORT, ControlType.COMMIT


def data(
    offset: int,
    sequence: int = 0,
    *,
    epoch: int = 0,
    count: int = 1,
    producer_id: int = PRODUCER,
    transactional: bool = False,
    timestamp: int | None = None,
) -> bytes:
    """A batch of `count` records; its timestamp is 1000 plus its offset unless given."""
    ms = 1000 + offset if timestamp is None else timestamp
    origin = Origin(
        producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, is_transactional=transactional
    )
    records = [Record(offset + n, ms, None, b"v") for n in range(count)]
    return build_batch(records, partition_leader_epoch=0, origin=origin)


def marker(
    offset: int,
    kind: ControlType = COMMIT,
    *,
    epoch: int = 0,
    coordinator_epoch: int = 0,
    producer_id: int = PRODUCER,
    timestamp: int | None = None,
) -> bytes:
    return build_marker_batch(
        EndTransactionMarker(kind, coordinator_epoch),
        offset=offset,
        timestamp=1000 + offset if timestamp is None else timestamp,
        producer_id=producer_id,
        producer_epoch=epoch,
        partition_leader_epoch=0,
    )


def emptied(batch: bytes) -> bytes:
    """What compaction leaves of the batch when it has removed all its records."""
    return empty_batch(read_header(batch))


def append(
    manager: ProducerStateManager,
    *batches: bytes,
    origin: AppendOrigin = AppendOrigin.CLIENT,
    transaction_version: int | None = None,
) -> tuple[ProducerAppend, list[AbortedTxn]]:
    """Check, apply, complete; returns what was found and what went into the transaction index."""
    found = walk(b"".join(batches))
    checked = manager.check(found.data, found.table, origin, transaction_version)
    aborted: list[AbortedTxn] = []
    if checked.duplicate is None:
        manager.apply(checked)
        for completed in checked.completed:
            entry = manager.transactions.index_entry(completed)
            aborted += [entry] if entry is not None else []
            manager.transactions.complete(completed)
        manager.map_end_offset = int(found.table[-1]["base_offset"] + found.table[-1]["last_offset_delta"]) + 1
    return checked, aborted
