"""Checks the state of producers: markers, and the snapshot at a segment's end, which must follow from the one at its
start."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from octavo.errors import AppendRejected, CorruptionError
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.format.small_files import producer_snapshot
from octavo.format.small_files.producer_snapshot import ProducerEntry
from octavo.jobs.verify import severities
from octavo.jobs.verify.finding import FindingCollector, FindingKind
from octavo.jobs.verify.view import LogPart, SegmentView
from octavo.kernels.layout import CONTROL
from octavo.scanner.places.location import Location
from octavo.storage.producers.state import ProducerStateManager

_NEVER = 1 << 62
_SHOWN = tuple(name for name in ProducerEntry._fields if name != "producer_id")


class ProducerCheck:
    """Replays a segment's batches onto the producers' state at its base offset.

    The result is valid only while all batches are as originally written: compaction leaves gaps and emptied batches,
    and from the first of them on `is_whole` is False. Without a state to begin with, only markers are checked.
    """

    def __init__(self, view: SegmentView, state: bytes | None, findings: FindingCollector) -> None:
        self.is_whole = True
        self.aborted: list[AbortedTxn] = []
        self._path = view.path()
        self._findings = findings
        self._base_offset = self._next_offset = view.base_offset
        self._producers = ProducerStateManager(expiration_ms=_NEVER)
        self._is_seeded = _load(self._producers, state, view.base_offset)
        # What 0.11 and 1.0 wrote for a producer after a marker: the marker's offset, and the time of the last data
        # batch before it.
        self._markers: dict[int, int] = {}
        self._data_times = {entry.producer_id: entry.timestamp for entry in self._replayed()}

    def take(self, part: LogPart) -> None:
        table = part.table
        self.is_whole = self.is_whole and self._follows(part)
        if not (table["producer_id"] >= 0).any():
            return
        try:
            replay = self._producers.replay(part.data, table)
        except AppendRejected:
            self._is_seeded = False  # after compaction a transaction may have lost its marker
            return
        self.aborted += replay.aborted
        self._note_last(table[table["producer_id"] >= 0])
        if replay.damage is not None:
            self._is_seeded = False
            position = part.file_position + (replay.damage.position or 0)
            self._findings.add(self._path, position, FindingKind.INVALID_RECORDS, replay.damage.problem)

    def expected(self) -> list[AbortedTxn] | None:
        """The aborted transactions that the index must have; None if unknown."""
        return self.aborted if self._is_seeded and self.is_whole else None

    def check_snapshot(
        self, path: Location, offset: int, content: bytes, next_producer_id: Callable[[], int | None]
    ) -> None:
        """Compare the snapshot at the segment's end with the replayed state. Expired producers may be missing.

        0.11 and 1.0 may have included the batch or marker at the offset, whose append made the segment roll; its
        producer is the one that `next_producer_id` finds.
        """
        try:
            written = producer_snapshot.decode(content)
        except CorruptionError:
            return  # reported by `check_entries`
        if self.expected() is None:
            return
        known = {entry.producer_id: entry for entry in self._replayed()}
        for slot, entry in enumerate(written):
            state = known.get(entry.producer_id)
            is_ahead = entry.last_offset >= offset and entry.producer_id == next_producer_id()
            if state is None or not self._agree(state, entry, offset, is_ahead):
                found = "none" if state is None else _shown(state)
                detail = f"producer {entry.producer_id} with {_shown(entry)}, according to the log {found}"
                position = producer_snapshot.HEADER.size + slot * producer_snapshot.ENTRY.size
                self._findings.add(path, position, FindingKind.WRONG_STATE, detail)

    def _replayed(self) -> list[ProducerEntry]:
        return producer_snapshot.decode(producer_snapshot.encode_table(self._producers.table.snapshot()))

    def _note_last(self, table: NDArray[np.void]) -> None:
        """Remember the last marker and the last data of each producer."""
        is_marker = table["attributes"] & CONTROL != 0
        markers, data = (is_marker, "base_offset", self._markers), (~is_marker, "max_timestamp", self._data_times)
        for rows, field, last in (markers, data):
            backwards = table[rows][::-1]
            ids, slots = np.unique(backwards["producer_id"], return_index=True)
            last.update(zip(ids.tolist(), backwards[field][slots].tolist(), strict=True))

    def _agree(self, state: ProducerEntry, written: ProducerEntry, offset: int, is_ahead: bool) -> bool:
        """Whether a snapshot at the offset agrees with the log.

        The next batch of an expired producer begins a new state, which the replay does not know: it has no coordinator
        epoch until a marker comes, and neither a sequence nor an offset until data comes.
        """
        if state.epoch != written.epoch:
            return False
        if written.current_txn_first_offset not in (state.current_txn_first_offset, -1, offset):
            return False
        if is_ahead:
            return True
        marker = self._markers.get(state.producer_id)
        places = [
            (state.last_sequence, state.last_offset, state.offset_delta),
            (state.last_sequence, marker, 0),
        ]
        coordinator_epochs = [state.coordinator_epoch]
        if state.last_offset > (self._base_offset - 1 if marker is None else marker):
            coordinator_epochs.append(-1)
        elif marker is not None:
            places.append((-1, -1, 0))
        return (
            (written.last_sequence, written.last_offset, written.offset_delta) in places
            and written.coordinator_epoch in coordinator_epochs
            and written.timestamp in (state.timestamp, self._data_times.get(state.producer_id))
        )

    def _follows(self, part: LogPart) -> bool:
        """Whether no offset is missing, either between batches or inside one."""
        table = part.table
        starts = np.concatenate([[self._next_offset], part.last_offsets[:-1] + 1])
        self._next_offset = int(part.last_offsets[-1]) + 1
        is_whole = (table["magic"] >= 2) & (table["count"] == table["last_offset_delta"] + 1)
        return bool((is_whole & (table["base_offset"] == starts)).all())


def _load(producers: ProducerStateManager, state: bytes | None, base_offset: int) -> bool:
    """Start with the state of a snapshot, or empty at the very start of a log; False if the state is unknown."""
    if state is None:
        producers.start_at(base_offset)
        return base_offset == 0
    try:
        producers.load(state, base_offset, 0)
    except CorruptionError:
        return False
    return True


def _shown(entry: ProducerEntry) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {getattr(entry, name)}" for name in _SHOWN)


def check_entries(path: Location, offset: int, may_be_torn: bool, content: bytes, findings: FindingCollector) -> None:
    """Check a snapshot on its own: its format, and that it names nothing beyond its own offset."""
    try:
        entries = producer_snapshot.decode(content)
    except CorruptionError as error:
        findings.add_error(path, error, severity=severities.of_snapshot(content, may_be_torn=may_be_torn))
        return
    seen: set[int] = set()
    for slot, entry in enumerate(entries):
        position = producer_snapshot.HEADER.size + slot * producer_snapshot.ENTRY.size
        latest = max(entry.last_offset - entry.offset_delta, entry.current_txn_first_offset)
        if entry.producer_id in seen or entry.producer_id < 0:
            detail = f"producer {entry.producer_id}, expected a different id of 0 or more in each entry"
            findings.add(path, position, FindingKind.WRONG_STATE, detail)
        elif latest > offset:
            detail = f"producer {entry.producer_id} with offset {latest}, expected none after {offset}"
            findings.add(path, position, FindingKind.WRONG_STATE, detail)
        seen.add(entry.producer_id)
