"""The leader epochs of batches beside leader-epoch-checkpoint. A batch's epoch is outside its CRC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from octavo.format.small_files.leader_epochs import EpochEntry
from octavo.jobs.verify.finding import MOST_FINDINGS, Findings, Problem, Severity
from octavo.jobs.verify.view import Part
from octavo.kernels.layout import NO_LEADER_EPOCH


@dataclass(slots=True)
class Unlisted:
    """What a segment has before the first entry of the checkpoint; of all of a partition's it says what that means."""

    first: EpochEntry | None = None  # of the checkpoint
    offset: int | None = None  # of the last batch before it that has an epoch
    epoch: int = NO_LEADER_EPOCH  # the largest before it
    has_old_formats: bool = False


class EpochCheck:
    """Compares each batch's epoch with the entry for its offset.

    What lies before the first entry is left to who knows the whole partition. Nothing is said of batches without an
    epoch: older formats have none, and what was made of them has none either.
    """

    def __init__(self, path: object, checkpoint: object, entries: Sequence[EpochEntry], findings: Findings) -> None:
        self._path = path
        self._checkpoint = checkpoint
        self._epochs = np.array([entry.epoch for entry in entries], np.int64)
        self._starts = np.array([entry.start_offset for entry in entries], np.int64)
        self._findings = findings
        # Entries out of order are a finding of their own; nothing can be looked up in them.
        self._is_usable = bool(len(entries)) and bool((np.diff(self._starts) >= 0).all())
        self._confirmed: set[int] = set()  # slots of entries that some batch agrees with
        self.unlisted = Unlisted(entries[0] if self._is_usable else None)
        self._differing: dict[int, list[tuple[int, int, int]]] = {}  # by slot: position, offset and epoch of batches

    def take(self, part: Part) -> None:
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
        """Tell what differs: of the checkpoint where it may be its entry that is wrong, of the log where it may not."""
        for slot, differing in self._differing.items():
            epochs = {epoch for _, _, epoch in differing}
            neighbours = set(self._epochs[max(slot - 1, 0) : slot + 2].tolist())
            nobody_agrees = slot not in self._confirmed and len(epochs) == 1
            if nobody_agrees or epochs <= neighbours:  # a wrong epoch, or a wrong start of this one or of the next
                entry = f"epoch {self._epochs[slot]} from offset {self._starts[slot]} on"
                detail = f"{entry}, but batches there are of epoch {', '.join(map(str, sorted(epochs)))}"
                self._findings.add(self._checkpoint, None, Problem.LEADER_EPOCH, detail)
            if nobody_agrees and len(differing) > 1:
                continue  # many batches agree with one another, and only the entry with none
            for position, offset, epoch in differing:
                expected = f"expected {self._epochs[slot]} by leader-epoch-checkpoint"
                detail = f"leader epoch {epoch} at offset {offset}, {expected}"
                self._findings.add(self._path, position, Problem.LEADER_EPOCH, detail)


def check_entries(path: object, entries: Sequence[EpochEntry], findings: Findings) -> None:
    """Epochs and their start offsets ascend."""
    for slot in range(1, len(entries)):
        before, entry = entries[slot - 1], entries[slot]
        if entry.epoch <= before.epoch or entry.start_offset <= before.start_offset:
            found = f"epoch {entry.epoch} from offset {entry.start_offset} on"
            detail = f"{found} behind epoch {before.epoch} from {before.start_offset} on, expected ascending ones"
            findings.add(path, None, Problem.ENTRY_ORDER, detail)


def check_first_entry(
    path: object, segments: Sequence[Unlisted], log_start_offset: int, severity: Severity, findings: Findings
) -> None:
    """The first entry reaches back to the log's start, or its epoch is that of batches before it: the start has moved.

    Larger epochs before it are those of another topic's life. Older formats had no epochs, and to go back to one of
    them, even for a while, cleared the checkpoint.
    """
    first = next((unlisted.first for unlisted in segments if unlisted.first is not None), None)
    before = [unlisted for unlisted in segments if unlisted.offset is not None and unlisted.offset >= log_start_offset]
    if first is None or not before or any(unlisted.has_old_formats for unlisted in segments):
        return
    largest = max(unlisted.epoch for unlisted in segments)
    if largest < first.epoch:
        found = f"epoch {first.epoch} from offset {first.start_offset} on is the first"
        detail = f"{found}, but batches before it are of epoch {largest}, up to offset {before[-1].offset}"
        findings.add(path, None, Problem.LEADER_EPOCH, detail, severity)
