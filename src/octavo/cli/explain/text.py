"""Formats anatomy and overview as text: aligned columns, problems in red on a terminal."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from typing import NamedTuple

from octavo.cli.explain.overview import Overview
from octavo.cli.options import coloured, many
from octavo.cli.table import fitted
from octavo.format.anatomy import Node, NodeValue

_WIDE = 100  # a terminal needs this many columns for the full widths


class _Widths(NamedTuple):
    """How much of a field is shown, and how the columns are set."""

    hex_bytes: int = 12
    value_characters: int = 24
    indent: str = "  "
    gap: str = "  "
    position: str = "position"
    has_units: bool = True
    cut: str = "… ({})"


_NARROW = _Widths(4, 13, " ", " ", "at", has_units=False, cut="…")
_LEVELS = "cyan", "green", "yellow", "magenta", "blue"
_OVERVIEW = "{:>10}  {:>12}  {:>12}  {:>8}  {:>9}  {:>5}  {:<6}  {}"


def anatomy_lines(node: Node) -> Iterator[str]:
    """One line per node, or several on a terminal; names are indented by depth."""
    is_narrow = sys.stdout.isatty() and shutil.get_terminal_size().columns < _WIDE
    layout = _NARROW if is_narrow else _Widths()
    rows = [(layout.position, "bytes", "field", "value", "meaning", "", 0), *_rows(node, 0, layout)]
    widths = [max(len(str(row[column])) for row in rows) for column in range(4)]
    for position, raw, name, value, meaning, problem, depth in rows:
        cells = position.rjust(widths[0]), raw.ljust(widths[1]), name.ljust(widths[2]), value.ljust(widths[3]), ""
        start = layout.gap.join(cells)
        first, *others = fitted(start, meaning, _wrong(problem), style=_red)
        yield first.replace(name, coloured(name, _LEVELS[depth % len(_LEVELS)]), 1) if depth else first
        yield from others


def overview_lines(overview: Overview) -> Iterator[str]:
    columns = "position", "base offset", "last offset", "records", "size", "magic", "codec", "flags"
    yield from fitted(_OVERVIEW.format(*columns), "")
    for batch in overview:
        known = ["?" if value is None else value for value in batch[:6]]
        start = _OVERVIEW.format(*known, batch.codec or "?", "")
        yield from fitted(start, ", ".join(batch.flags), _wrong(", ".join(batch.problems)), style=_red)
    yield from fitted(f"{overview.tail.position:>10}  ", overview.tail_text())


def entry_lines(node: Node) -> Iterator[str]:
    """An entry of an index, a snapshot or a text file: one line, or several on a terminal."""
    shown = f"({many(node.length, 'byte')})" if node.value is None and not node.children else _shown(node)
    problem = _wrong("; ".join(bad.problem for bad in node.problems()))
    if node.raw.startswith(node.name.encode()):  # a property: its name is part of the line
        shown = f"{node.name}  {shown}"
    return fitted(f"{node.position:>10}  {shown}  ", node.meaning or node.name, problem, style=_red)


def _shown(node: Node) -> str:
    """The text of a line, or the bytes of an entry in hex."""
    return node.value.decode("utf-8", "backslashreplace") if isinstance(node.value, bytes) else node.raw.hex()


def _rows(node: Node, depth: int, widths: _Widths) -> Iterator[tuple[str, str, str, str, str, str, int]]:
    is_group = node.value is None and (node.children or node.offset is not None)
    size = many(node.length, "byte") if widths.has_units else str(node.length)
    raw = f"({size})" if is_group else _hex(node.raw, widths)
    bits = are_bits(node)
    value = value_text(node.value, widths.value_characters)
    if bits and 8 * node.length <= widths.value_characters:
        value = f"{int.from_bytes(node.raw):0{8 * node.length}b}"
    name = widths.indent * depth + node.name
    yield str(node.position), raw, name, value, node.meaning, node.problem, depth
    for child in node.children:
        for row in _rows(child, depth + 1, widths):
            yield ("", "", *row[2:]) if bits else row  # the bytes are in the line above


def are_bits(node: Node) -> bool:
    """Whether a field's children are its bits, in the same bytes."""
    return isinstance(node.value, int) and bool(node.children) and all(child.raw == node.raw for child in node.children)


def _hex(raw: bytes, widths: _Widths) -> str:
    most = widths.hex_bytes
    return raw.hex() if len(raw) <= most else raw[:most].hex() + widths.cut.format(len(raw))


def value_text(value: NodeValue, most: int = _Widths().value_characters) -> str:
    """A value, cut after this many characters."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        try:
            value = json.dumps(value.decode("utf-8"), ensure_ascii=False)
        except UnicodeDecodeError:
            return "not UTF-8"
    text = str(value)
    return text if len(text) <= most else f"{text[:most]}…"


def _wrong(problem: str) -> str:
    return f"WRONG: {problem}" if problem else ""


def _red(text: str) -> str:
    return coloured(text, "red")
