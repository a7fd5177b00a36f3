"""Remembers the damage that a search passes, since it may hold the record that is looked for."""

from __future__ import annotations

import numpy as np

from octavo.format.batches.chunk_walk import Chunk
from octavo.format.batches.sound import unreadable
from octavo.format.batches.walker import STOP_TEXTS
from octavo.scanner.damage.salvage import Gap
from octavo.scanner.findings import Note
from octavo.scanner.places.location import Location


class PassedDamage:
    """The damaged places of one log file after the last sound batch that begins at or before an offset.

    Damage before that batch holds smaller offsets, so it cannot hide the record that a search for that offset looks
    for.
    """

    def __init__(self, location: Location, offset: int) -> None:
        self._location = location
        self._offset = offset
        self._found: list[tuple[int, str]] = []

    def see(self, chunk: Chunk, rows: int) -> None:
        """Record the damage in the first rows of a chunk."""
        table = chunk.table[:rows]
        flawed = unreadable(table)
        before = np.flatnonzero(~flawed & (table["base_offset"] <= self._offset))
        if len(before):
            self._found.clear()
            flawed[: before[-1]] = False
        for position in table["position"][flawed].tolist():
            self._found.append((chunk.file_position + position, "a damaged batch"))

    def see_gap(self, gap: Gap) -> None:
        """Record a place where the batches could not be followed."""
        self._found.append((gap.position, STOP_TEXTS[gap.stop]))

    def notes(self) -> list[Note]:
        """One note on all the damage, if there is any."""
        if not self._found:
            return []
        (position, what), *others = self._found
        more = f", and {len(others)} more" if others else ""
        sentence = f"position {position}: {what}{more}; skipped, though it may hold what was looked for"
        return [Note(str(self._location), sentence, is_damage=True)]


def not_read(path: object, error: OSError) -> Note:
    """The note about a file that could not be read."""
    return Note(str(path), f"{error.strerror or error}; not read", is_damage=True)
