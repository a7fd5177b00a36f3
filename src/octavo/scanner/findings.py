"""What a reader finds besides records: notes, and damage, which it raises or skips."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from octavo.errors import CorruptionError, CorruptRecordError

OnDamage = Literal["raise", "skip"]


class Note(NamedTuple):
    """One sentence about a file or folder that is not as expected."""

    path: str
    sentence: str
    is_damage: bool = False  # something that was requested is, or may be, missing
    position: int | None = None  # of the damage in the file

    def __str__(self) -> str:
        return f"{self.path}: {self.sentence}"


class ScanFindings:
    """Collects what is unexpected while tasks are planned and read: in `notes`, with the number of damaged places in
    `damage_count`. `on_damage` says whether damage is raised or skipped."""

    def __init__(self, on_damage: OnDamage = "raise", advice: str = "") -> None:
        self.on_damage = on_damage
        self._advice = f". {advice}" if advice else ""  # how to read the rest; ends the error
        self.notes: list[Note] = []
        self.damage_count = 0

    def note(self, path: object, sentence: str, *, is_damage: bool = False, position: int | None = None) -> None:
        """Add a note, without counting it."""
        self.notes.append(Note(str(path), sentence, is_damage, position))

    def take(self, notes: Iterable[Note]) -> None:
        """Add notes. One about damage is raised, or counted."""
        for note in notes:
            if note.is_damage and self.on_damage == "raise":
                raise CorruptRecordError(f"{note.sentence}{self._advice}", path=note.path)
            self.count([note])

    def count(self, notes: Iterable[Note]) -> None:
        """Add notes without raising any, for damage that does not keep the rest from being read."""
        for note in notes:
            self.damage_count += note.is_damage
            self.notes.append(note)

    def loss(self, path: object, sentence: str) -> None:
        """Report that wanted records are gone."""
        self.note(path, sentence)

    def damage(self, error: CorruptionError) -> None:
        """Raise the error, or note it so that the reader can continue after it."""
        if self.on_damage == "raise":
            error.problem += self._advice
            raise error
        self.damage_count += 1
        place = "" if error.position is None else f"position {error.position}: "
        self.note(error.path, f"{place}{error.problem}; skipped", is_damage=True, position=error.position)

    def unreadable(self, path: object, error: OSError, position: int | None = None) -> None:
        """Raise the disk's error, or note it so that the reader can continue with what is readable."""
        if self.on_damage == "raise":
            raise error
        self.damage_count += 1
        place = "" if position is None else f"position {position}: "
        self.note(error.filename or path, f"{place}{error.strerror or error}; not read", is_damage=True)
