"""What a reader has to say beside its records: things that are not as expected."""

from __future__ import annotations

from typing import NamedTuple


class Note(NamedTuple):
    """One sentence about a place."""

    path: str
    sentence: str
    is_damage: bool = False  # something that was asked for is, or may be, missing

    def __str__(self) -> str:
        return f"{self.path}: {self.sentence}"
