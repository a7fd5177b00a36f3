"""Replays the batches of a log onto the producers' state, in plain Python."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from octavo.kernels import layout
from octavo.kernels.integers import INT32_MAX, signed32, signed64
from octavo.kernels.producers import CACHED_BATCHES, NONE, ProducerArrays, Replayed


def replay(
    table: NDArray[np.void],
    markers: NDArray[np.void],
    producers: ProducerArrays,
    row: int = 0,
    marker: int = 0,
    known: ProducerArrays | None = None,
) -> tuple[int, int, int]:
    """Apply the batches of `table` from `row` on; returns (Replayed, next row, next marker).

    The batches were accepted once, so only what no log may hold is checked. `markers` has a row for each control batch
    with a producer id; the row receives the first offset of the transaction that the batch ended (-1: none) and, if
    there is one, the last stable offset after it. Batches without a producer id are skipped. A new producer that is
    among the `known` ones starts with its state there, but without batches; `known` does not change.
    """
    if row < 0 or marker < 0:
        raise ValueError(f"row {row} and marker {marker}, expected 0 or more")
    ids = table["producer_id"]
    for at in range(row, len(table)):
        if ids[at] < 0:
            continue
        batch = table[at]
        is_control = batch["attributes"] & layout.CONTROL
        if is_control and marker >= len(markers):
            return Replayed.MARKER_MISSING, at, marker
        index = producers.find(int(ids[at]))
        if index == NONE:
            if producers.count == len(producers.entries):
                return Replayed.FULL, at, marker
            index = producers.add(int(ids[at]))
            before = NONE if known is None else known.find(int(ids[at]))
            if known is not None and before != NONE:
                producers.entries[index] = known.entries[before]
                producers.entries[index]["batch_count"] = producers.entries[index]["next_batch"] = 0
        entry = producers.entries[index]
        if is_control:
            _end_transaction(producers, entry, int(batch["producer_epoch"]), markers[marker])
            marker += 1
        elif (code := _add_batch(producers, entry, batch)) != Replayed.DONE:
            return code, at, marker
    return Replayed.DONE, len(table), marker


def continues(table: NDArray[np.void], producers: ProducerArrays) -> bool:
    """Whether all batches are data from one known producer that continues in its epoch with the next sequences.

    No transaction begins or ends with them, and none of them is among the producer's last batches, so no rule about
    producers could refuse them.
    """
    index = producers.find(int(table["producer_id"][0])) if len(table) and table["producer_id"][0] >= 0 else NONE
    if index == NONE or not producers.entries[index]["batch_count"]:
        return False
    entry = producers.entries[index]
    flags = layout.TRANSACTIONAL if entry["current_txn_first_offset"] != NONE else 0
    cached = {(int(batch["last_sequence"]), int(batch["offset_delta"])) for batch in _cached(entry)}
    last = int(_cached(entry)[-1]["last_sequence"])
    if last < 0:
        return False
    for batch in table:
        base, delta = int(batch["base_sequence"]), int(batch["last_offset_delta"])
        is_next = base == _last_sequence(last, 1) and delta >= 0
        last = _last_sequence(base, delta)
        same = batch["producer_id"] == entry["producer_id"] and batch["producer_epoch"] == entry["epoch"]
        same = same and batch["attributes"] & (layout.TRANSACTIONAL | layout.CONTROL) == flags
        if not (is_next and same) or (last, delta) in cached:
            return False
    return True


def _cached(entry: np.void) -> list[np.void]:
    """The producer's batches, newest last."""
    end = int(entry["next_batch"])
    return [entry["batches"][slot] for slot in range(end - int(entry["batch_count"]), end)]


def _add_batch(producers: ProducerArrays, entry: np.void, batch: np.void) -> Replayed:
    """Add a data batch to its producer's entry; within a transaction every batch must be transactional."""
    base_offset, delta = int(batch["base_offset"]), int(batch["last_offset_delta"])
    is_transactional = batch["attributes"] & layout.TRANSACTIONAL
    begins = is_transactional and entry["current_txn_first_offset"] == NONE and base_offset != NONE
    if entry["current_txn_first_offset"] != NONE and not is_transactional:
        return Replayed.NOT_TRANSACTIONAL
    if begins and producers.ongoing_count == len(producers.ongoing):
        return Replayed.FULL
    _set_epoch(entry, int(batch["producer_epoch"]))
    last_offset = signed64(base_offset + delta)
    cached = (last_offset, batch["max_timestamp"], _last_sequence(int(batch["base_sequence"]), delta), delta)
    entry["batches"][entry["next_batch"]] = cached
    entry["next_batch"] = (entry["next_batch"] + 1) % CACHED_BATCHES
    entry["batch_count"] = min(entry["batch_count"] + 1, CACHED_BATCHES)
    entry["last_timestamp"] = batch["max_timestamp"]
    if begins:
        entry["current_txn_first_offset"] = base_offset
        _begin(producers, base_offset, int(entry["producer_id"]))
    return Replayed.DONE


def _end_transaction(producers: ProducerArrays, entry: np.void, epoch: int, marker: np.void) -> None:
    marker["first_offset"] = NONE
    if marker["type"] == NONE:
        return  # emptied by compaction, after the whole transaction was gone
    _set_epoch(entry, epoch)
    marker["first_offset"] = entry["current_txn_first_offset"]
    if marker["first_offset"] != NONE:
        marker["last_stable_offset"] = _complete(producers, int(entry["producer_id"]), int(marker["offset"]) + 1)
    entry["coordinator_epoch"] = marker["coordinator_epoch"]
    entry["last_timestamp"] = marker["timestamp"]
    entry["current_txn_first_offset"] = NONE


def _set_epoch(entry: np.void, epoch: int) -> None:
    """Set the producer's epoch and, if it changes, forget the batches of the one before."""
    if entry["epoch"] != epoch:
        entry["epoch"] = epoch
        entry["batch_count"] = entry["next_batch"] = 0


def _begin(producers: ProducerArrays, first_offset: int, producer_id: int) -> None:
    """Insert the transaction in order: at the end, unless offsets go backwards."""
    ongoing, at = producers.ongoing, producers.ongoing_count
    while at and ongoing[at - 1]["first_offset"] > first_offset:
        ongoing[at] = ongoing[at - 1]
        at -= 1
    ongoing[at] = (first_offset, producer_id)
    producers.ongoing_count += 1


def _complete(producers: ProducerArrays, producer_id: int, after_marker: int) -> int:
    """Remove the producer's transaction; returns the first offset of the earliest other one, or `after_marker`."""
    ongoing, count = producers.ongoing, producers.ongoing_count
    others = ongoing[:count][ongoing["producer_id"][:count] != producer_id]
    ongoing[: len(others)] = others
    producers.ongoing_count = len(others)
    return int(others[0]["first_offset"]) if len(others) else signed64(after_marker)


def _last_sequence(base_sequence: int, last_offset_delta: int) -> int:
    """The last sequence as Kafka computes it, in 32 bits; see `octavo.format.sequence`."""
    if base_sequence == layout.NO_SEQUENCE:
        return layout.NO_SEQUENCE
    if base_sequence > signed32(INT32_MAX - last_offset_delta):
        return signed32(last_offset_delta - (INT32_MAX - base_sequence) - 1)
    return signed32(base_sequence + last_offset_delta)
