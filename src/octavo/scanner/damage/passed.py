"""The damage that a search passes on its way: what it looks for may have been there."""

from __future__ import annotations

import numpy as np

from octavo.format.batches.sound import unreadable
from octavo.format.batches.walker import STOP_TEXTS, Chunk
from octavo.scanner.damage.salvage import Gap
from octavo.scanner.findings import Note
from octavo.scanner.places.location import Location


class PassedDamage:
    """The damaged places of one log file behind the last sound batch that begins at or before an offset.

    What lies before such a batch has smaller offsets, and is of no concern to who looks for that offset or a later one.
    """

    def __init__(self, location: Location, offset: int) -> None:
        self._location = location
        self._offset = offset
        self._found: list[tuple[int, str]] = []

    def see(self, chunk: Chunk, rows: int) -> None:
        """The first rows of a chunk were passed."""
        table = chunk.table[:rows]
        flawed = unreadable(table)
        before = np.flatnonzero(~flawed & (table["base_offset"] <= self._offset))
        if len(before):
            self._found.clear()
            flawed[: before[-1]] = False
        for position in table["position"][flawed].tolist():
            self._found.append((chunk.file_position + position, "a damaged batch"))

    def see_gap(self, gap: Gap) -> None:
        """The batches could not be followed."""
        self._found.append((gap.position, STOP_TEXTS[gap.stop]))

    def notes(self) -> list[Note]:
        """What is to be said of it."""
        if not self._found:
            return []
        (position, what), *others = self._found
        more = f", and {len(others)} more" if others else ""
        sentence = f"position {position}: {what}{more}; passed over, though it may hold what was looked for"
        return [Note(str(self._location), sentence, is_damage=True)]


def not_read(path: object, error: OSError) -> Note:
    """What is said of a file that cannot be read, and of which nobody else will speak."""
    return Note(str(path), f"{error.strerror or error}; not read", is_damage=True)
