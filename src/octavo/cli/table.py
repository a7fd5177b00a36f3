"""Tables that fit: on a terminal the least important columns go first, in a pipe all of them stay."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import NamedTuple

_GAP = "  "
_NARROWEST = 12


class Column(NamedTuple):
    """A column of a table. Of those with an `importance` the smallest go first where the room ends; 0 always stays."""

    name: str
    right: bool = False
    importance: int = 0


def print_table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under their columns' names. The first column is text, and is cut where all else is not enough."""
    cells = [[column.name for column in columns], *rows]
    widths = [max(len(row[slot]) for row in cells) for slot in range(len(columns))]
    kept = list(range(len(columns)))
    if sys.stdout.isatty():
        room = shutil.get_terminal_size().columns
        for slot in sorted((slot for slot in kept if columns[slot].importance), key=lambda i: columns[i].importance):
            if _total(widths, kept) <= room:
                break
            kept.remove(slot)
        excess = _total(widths, kept) - room
        widths[0] = max(min(widths[0], _NARROWEST), widths[0] - max(excess, 0))
    for row in cells:
        line = _GAP.join(_cell(row[slot], widths[slot], columns[slot].right) for slot in kept)
        print(line.rstrip())


def _total(widths: Sequence[int], kept: Sequence[int]) -> int:
    return sum(widths[slot] for slot in kept) + len(_GAP) * (len(kept) - 1)


def _cell(text: str, width: int, right: bool) -> str:
    if len(text) > width:
        head = (width - 1) // 2
        text = f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"
    return text.rjust(width) if right else text.ljust(width)
