"""Prints tables that fit: on a terminal the least important columns are dropped, otherwise all stay."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from octavo.cli.plain import plain
from octavo.kernels.layout import NO_TIMESTAMP

_GAP = "  "
_NARROWEST = 12
_LEAST_TEXT = 24
_INDENT = 4
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TableColumn(NamedTuple):
    """A column of a table. If there is little room, those with the smallest `importance` are dropped first, those
    with 0 never. The text of a last column that `wraps` continues on the next lines."""

    name: str
    right: bool = False
    importance: int = 0
    wraps: bool = False


def print_table(columns: Sequence[TableColumn], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under their columns' names: a dash for None and for an empty list, commas between several values.

    On a terminal, the cells of the first column, which is text, are shortened if dropping columns is not enough.
    """
    cells = [[column.name for column in columns], *([plain(_cell_text(value)) for value in row] for row in rows)]
    widths = [max(len(row[slot]) for row in cells) for slot in range(len(columns))]
    kept = list(range(len(columns)))
    if sys.stdout.isatty():
        room = shutil.get_terminal_size().columns
        wanted = widths[-1]
        if columns[-1].wraps:
            widths[-1] = max((len(word) for row in cells for word in row[-1].split()), default=0)
        for slot in sorted((slot for slot in kept if columns[slot].importance), key=lambda i: columns[i].importance):
            if _total(widths, kept) <= room:
                break
            kept.remove(slot)
        excess = _total(widths, kept) - room
        widths[0] = max(min(widths[0], _NARROWEST), widths[0] - max(excess, 0))
        widths[-1] = min(wanted, widths[-1] + max(-excess, 0))
        if hidden := [column.name for slot, column in enumerate(columns) if slot not in kept]:
            noun, pronoun = ("columns", "them") if len(hidden) > 1 else ("column", "it")
            columns_hidden = f"{len(hidden)} {noun} hidden, since the terminal is too narrow"
            print(f"octavo: {columns_hidden}: {', '.join(hidden)}; --json has {pronoun}", file=sys.stderr)
    for row in cells:
        *before, last = (_cell(row[slot], widths[slot], columns[slot]) for slot in kept)
        start = _GAP.join([*(cell for (cell,) in before), ""])
        for line in last:
            print(f"{start}{line}".rstrip())
            start = " " * len(start)


def iso_time(timestamp: int) -> str | None:
    """Milliseconds since 1970 as ISO 8601 in UTC, or the number if no date is that early or late; None for no time."""
    if timestamp == NO_TIMESTAMP:
        return None
    try:
        moment = _EPOCH + timedelta(milliseconds=timestamp)
    except OverflowError:
        return str(timestamp)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{timestamp % 1000:03}Z"


def fitted(start: str, *texts: str, style: Callable[[str], str] = str) -> Iterator[str]:
    """A line of columns, `start`, and the texts after them; `style` applies to the last text.

    On a terminal, each text begins a line and continues on the next ones if it does not fit. Columns that leave too
    little room for the texts get a line of their own, which is cut if it is longer than the terminal is wide.
    """
    start = plain(start)
    *several, last = map(plain, texts)
    if not sys.stdout.isatty():
        yield (start + "; ".join([text for text in several if text] + ([style(last)] if last else []))).rstrip()
        return
    width = shutil.get_terminal_size().columns
    indent = len(start) if width - len(start) >= _LEAST_TEXT else _INDENT
    lines = [line for text in several for line in textwrap.wrap(text, max(width - indent, _LEAST_TEXT))]
    lines += [style(line) for line in textwrap.wrap(last, max(width - indent, _LEAST_TEXT))]
    if indent == len(start) and lines:
        start += lines.pop(0)
        yield start
    else:
        start = start.rstrip()
        yield start if len(start) <= width else f"{start[: width - 1]}…"
    for line in lines:
        yield " " * indent + line


def _cell_text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value)) or "-"
    return "-" if value is None else str(value)


def _total(widths: Sequence[int], kept: Sequence[int]) -> int:
    return sum(widths[slot] for slot in kept) + len(_GAP) * (len(kept) - 1)


def _cell(text: str, width: int, column: TableColumn) -> list[str]:
    """The lines of a cell: several if its column wraps."""
    if column.wraps:
        return textwrap.wrap(text, width) or [""]
    if len(text) > width:
        head = (width - 1) // 2
        text = f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"
    return [text.rjust(width) if column.right else text.ljust(width)]
