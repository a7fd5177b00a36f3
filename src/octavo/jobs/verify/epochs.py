"""The leader epochs of batches beside leader-epoch-checkpoint. A batch's epoch is outside its CRC."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from octavo.format.leader_epochs import EpochEntry
from octavo.jobs.verify.finding import Findings, Problem
from octavo.jobs.verify.view import Part
from octavo.kernels.layout import NO_LEADER_EPOCH


class EpochCheck:
    """Compares each batch's epoch with the entry for its offset.

    Nothing is said of offsets before the first entry (the log's start has moved, or the history was lost), nor of
    batches without an epoch: older formats have none, and what was made of them has none either.
    """

    def __init__(self, path: object, entries: Sequence[EpochEntry], findings: Findings) -> None:
        self._path = path
        self._epochs = np.array([entry.epoch for entry in entries], np.int64)
        self._starts = np.array([entry.start_offset for entry in entries], np.int64)
        self._findings = findings
        # Entries out of order are a finding of their own; nothing can be looked up in them.
        self._is_usable = bool(len(entries)) and bool((np.diff(self._starts) >= 0).all())

    def take(self, part: Part) -> None:
        if not self._is_usable:
            return
        table = part.table
        slots = np.searchsorted(self._starts, table["base_offset"], "right") - 1
        found = table["partition_leader_epoch"]
        wrong = (slots >= 0) & (found != self._epochs[slots]) & (found != NO_LEADER_EPOCH) & (table["magic"] >= 2)
        for row in np.flatnonzero(wrong):
            expected = f"expected {self._epochs[slots[row]]} by leader-epoch-checkpoint"
            detail = f"leader epoch {found[row]} at offset {table[row]['base_offset']}, {expected}"
            self._findings.add(self._path, int(part.positions[row]), Problem.LEADER_EPOCH, detail)


def check_entries(path: object, entries: Sequence[EpochEntry], findings: Findings) -> None:
    """Epochs and their start offsets ascend."""
    for slot in range(1, len(entries)):
        before, entry = entries[slot - 1], entries[slot]
        if entry.epoch <= before.epoch or entry.start_offset <= before.start_offset:
            found = f"epoch {entry.epoch} from offset {entry.start_offset} on"
            detail = f"{found} behind epoch {before.epoch} from {before.start_offset} on, expected ascending ones"
            findings.add(path, None, Problem.ENTRY_ORDER, detail)
