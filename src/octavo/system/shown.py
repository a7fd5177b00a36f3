"""Counts, sizes, names and tables, as messages and notebooks show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_UNITS = ("KiB", "MiB", "GiB", "TiB")
_MOST_ROWS = 50
_MOST_NAMES = 3


def count(number: int, noun: str) -> str:
    """`1 topic`, `2 topics`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def size(number: float) -> str:
    """A number of bytes in the unit that suits it: `196 KiB`."""
    if number < 1024:
        return count(int(number), "byte")
    for unit in _UNITS:
        number /= 1024
        if number < 1024 or unit == _UNITS[-1]:
            break
    return f"{number:.0f} {unit}" if number >= 10 else f"{number:.1f} {unit}"


def some(names: Iterable[object]) -> str:
    """The first few names, and how many more there are."""
    listed = [str(name) for name in names]
    more = [f"{len(listed) - _MOST_NAMES} more"] if len(listed) > _MOST_NAMES else []
    return ", ".join([*listed[:_MOST_NAMES], *more])


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table in HTML, for `_repr_html_`."""
    shown = [_row("th", head), *(_row("td", row) for row in rows[:_MOST_ROWS])]
    if len(rows) > _MOST_ROWS:
        shown.append(_row("td", [f"{len(rows) - _MOST_ROWS} more", *[""] * (len(head) - 1)]))
    return f"<table><caption>{escape(title)}</caption>{''.join(shown)}</table>"


def _row(tag: str, cells: Sequence[object]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(str(cell))}</{tag}>' for cell in cells)}</tr>"
