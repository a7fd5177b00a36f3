"""What the time index tells of the offset index: they get their entries at the same moments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from octavo.jobs.verify.view import Part
from octavo.kernels.layout import NO_TIMESTAMP


class TimeWitness:
    """With an entry of the offset index comes one of the largest timestamp so far, unless the time index has it.

    So up to the end of an append that has an entry, the largest timestamp of the log is one that the time index has.
    That does not hold before its first entry, which may be of an upgrade from 0.10.0, nor behind messages of magic 0:
    the timestamps that they came with are nowhere in the log. 0.11 and 1.0 did not count batches that compaction has
    emptied. Before 0.10.1 there was no time index, and of an append of several messages the first one got the entry.
    """

    def __init__(self, is_there: bool, timestamps: NDArray[np.int64]) -> None:
        self._is_there = is_there
        self._timestamps = set(timestamps.tolist())
        self._first = min(self._timestamps, default=NO_TIMESTAMP)
        self._is_silent = not self._timestamps
        self._largest = [NO_TIMESTAMP, NO_TIMESTAMP]  # of all batches so far, and of those with records

    def take(self, part: Part) -> None:
        """Go behind these batches."""
        self._is_silent = self._is_silent or bool((part.table["magic"] == 0).any())
        if not self._is_silent:
            self._largest = self._up_to(part, len(part.table) - 1)

    def denies(self, part: Part, row: int) -> bool:
        """Whether no append of several batches can have ended with this one and got an entry."""
        if not self._is_there:
            return bool(part.table[row]["magic"] < 2)
        if self._is_silent or (part.table["magic"][: row + 1] == 0).any():
            return False
        largest = self._up_to(part, row)
        return min(largest) > self._first and not self._timestamps.intersection(largest)

    def _up_to(self, part: Part, row: int) -> list[int]:
        table = part.table[: row + 1]
        timestamps = table["max_timestamp"]
        has_records = np.where(table["count"] != 0, timestamps, NO_TIMESTAMP)
        return [max(self._largest[0], int(timestamps.max())), max(self._largest[1], int(has_records.max()))]
