"""Compares the leader epochs of batches with leader-epoch-checkpoint. The CRC of a batch does not cover its epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from octavo.format.small_files.leader_epochs import EpochEntry
from octavo.jobs.verify.finding import MOST_FINDINGS, FindingCollector, FindingKind, Severity
from octavo.jobs.verify.view import LogPart
from octavo.kernels.layout import NO_LEADER_EPOCH


@dataclass(slots=True)
class Unlisted:
    """A segment's batches before the checkpoint's first entry. Only all segments together show what they mean."""

    first: EpochEntry | None = None  # the checkpoint's first entry
    offset: int | None = None  # of the last batch with an epoch before the first entry
    epoch: int = NO_LEADER_EPOCH  # the largest epoch before the first entry
    has_old_formats: bool = False


class EpochCheck:
    """Compares each batch's epoch with the entry for its offset.

    Batches before the first entry are left to `check_first_entry`, which knows the whole partition. Batches without an
    epoch are skipped: older formats have none, and neither do batches converted from them.
    """

    def __init__(
        self, path: object, checkpoint: object, entries: Sequence[EpochEntry], findings: FindingCollector
    ) -> None:
        self._path = path
        self._checkpoint = checkpoint
        self._epochs = np.array([entry.epoch for entry in entries], np.int64)
        self._starts = np.array([entry.start_offset for entry in entries], np.int64)
        self._findings = findings
        # Entries out of order are reported elsewhere; lookups in them would be meaningless.
        self._is_usable = bool(len(entries)) and bool((np.diff(self._starts) >= 0).all())
        self._confirmed: set[int] = set()  # slots of entries that some batch agrees with
        self.unlisted = Unlisted(entries[0] if self._is_usable else None)
        self._differing: dict[int, list[tuple[int, int, int]]] = {}  # by slot: position, offset and epoch of batches

    def take(self, part: LogPart) -> None:
        table = part.table
        self.unlisted.has_old_formats |= bool((table["magic"] < 2).any())
        if not self._is_usable:
            return
        slots = np.searchsorted(self._starts, table["base_offset"], "right") - 1
        found = table["partition_leader_epoch"]
        compared = (slots >= 0) & (found != NO_LEADER_EPOCH) & (table["magic"] >= 2)
        self._note_unlisted(table[(slots < 0) & (found != NO_LEADER_EPOCH) & (table["magic"] >= 2)])
        agrees = found == self._epochs[slots]
        self._confirmed.update(np.unique(slots[compared & agrees]).tolist())
        for row in np.flatnonzero(compared & ~agrees).tolist():
            differing = self._differing.setdefault(int(slots[row]), [])
            if len(differing) < MOST_FINDINGS:
                differing.append((int(part.positions[row]), int(table[row]["base_offset"]), int(found[row])))

    def _note_unlisted(self, table: NDArray[np.void]) -> None:
        if len(table):
            self.unlisted.offset = int(table[-1]["base_offset"])
            self.unlisted.epoch = max(self.unlisted.epoch, int(table["partition_leader_epoch"].max()))

    def finish(self) -> None:
        """Report each difference where the mistake may be: in the checkpoint, in the log, or in both."""
        for slot, differing in self._differing.items():
            epochs = {epoch for _, _, epoch in differing}
            neighbours = set(self._epochs[max(slot - 1, 0) : slot + 2].tolist())
            nobody_agrees = slot not in self._confirmed and len(epochs) == 1
            # If nobody agrees, the entry's epoch may be wrong; if its neighbours have these epochs, a start offset.
            if nobody_agrees or epochs <= neighbours:
                entry = f"epoch {self._epochs[slot]} from offset {self._starts[slot]} on"
                detail = f"{entry}, but batches there are of epoch {', '.join(map(str, sorted(epochs)))}"
                self._findings.add(self._checkpoint, None, FindingKind.LEADER_EPOCH, detail)
            if nobody_agrees and len(differing) > 1:
                continue  # many batches agree with each other, and the entry with none of them
            for position, offset, epoch in differing:
                expected = f"expected {self._epochs[slot]} according to leader-epoch-checkpoint"
                detail = f"leader epoch {epoch} at offset {offset}, {expected}"
                self._findings.add(self._path, position, FindingKind.LEADER_EPOCH, detail)


def check_entries(path: object, entries: Sequence[EpochEntry], findings: FindingCollector) -> None:
    """Check that epochs and their start offsets ascend."""
    for slot in range(1, len(entries)):
        before, entry = entries[slot - 1], entries[slot]
        if entry.epoch <= before.epoch or entry.start_offset <= before.start_offset:
            found = f"epoch {entry.epoch} from offset {entry.start_offset} on"
            detail = f"{found} after epoch {before.epoch} from {before.start_offset} on, expected ascending ones"
            findings.add(path, None, FindingKind.ENTRY_ORDER, detail)


def check_first_entry(
    path: object, segments: Sequence[Unlisted], log_start_offset: int, severity: Severity, findings: FindingCollector
) -> None:
    """Check that the first entry reaches back to the log's start, or that the batches before it have its epoch.

    In the second case the log's start has moved. Larger epochs before the entry come from an earlier topic of the same
    name. Older formats had no epochs, and switching back to one of them, even briefly, cleared the checkpoint.
    """
    first = next((unlisted.first for unlisted in segments if unlisted.first is not None), None)
    before = [unlisted for unlisted in segments if unlisted.offset is not None and unlisted.offset >= log_start_offset]
    if first is None or not before or any(unlisted.has_old_formats for unlisted in segments):
        return
    largest = max(unlisted.epoch for unlisted in segments)
    if largest < first.epoch:
        found = f"epoch {first.epoch} from offset {first.start_offset} on is the first"
        detail = f"{found}, but batches before it are of epoch {largest}, up to offset {before[-1].offset}"
        findings.add(path, None, FindingKind.LEADER_EPOCH, detail, severity)
