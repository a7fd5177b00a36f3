"""Formats anatomy and overview as text: aligned columns, problems in red on a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator

from octavo.cli.explain.overview import BatchOverview, Overview
from octavo.cli.options import coloured
from octavo.cli.table import fitted
from octavo.format.anatomy import Node, Value

_HEX_BYTES = 12
_VALUE_CHARACTERS = 24
_OVERVIEW = "{:>10}  {:>12}  {:>12}  {:>8}  {:>9}  {:>5}  {:<6}  {}"


def anatomy_lines(node: Node) -> Iterator[str]:
    """One line per node, its name indented by its depth."""
    rows = [("position", "bytes", "field", "value", "meaning", ""), *_rows(node, 0)]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for position, raw, name, value, meaning, problem in rows:
        start = f"{position:>{widths[0]}}  {raw:<{widths[1]}}  {name:<{widths[2]}}  {value:<{widths[3]}}  "
        yield from fitted(start, meaning, _wrong(problem), style=_red)


def overview_lines(summaries: Iterator[BatchOverview]) -> Iterator[str]:
    columns = "position", "base offset", "last offset", "records", "size", "magic", "codec", "flags"
    yield from fitted(_OVERVIEW.format(*columns), "")
    for batch in summaries:
        known = ["?" if value is None else value for value in batch[:6]]
        start = _OVERVIEW.format(*known, batch.codec or "?", "")
        yield from fitted(start, ", ".join(batch.flags), _wrong(", ".join(batch.problems)), style=_red)


def tail_lines(overview: Overview) -> Iterator[str]:
    return fitted(f"{overview.tail.position:>10}  ", overview.tail_text())


def entry_lines(node: Node) -> Iterator[str]:
    """An entry of an index, a snapshot or a text file, on one line if there is room."""
    shown = f"({node.length} bytes)" if node.value is None and not node.children else _shown(node)
    problem = _wrong("; ".join(bad.problem for bad in node.problems()))
    return fitted(f"{node.position:>10}  {shown}  ", node.meaning or node.name, problem, style=_red)


def _shown(node: Node) -> str:
    """Text as is, bytes in hex."""
    return node.value.decode("utf-8", "backslashreplace") if isinstance(node.value, bytes) else node.raw.hex()


def _rows(node: Node, depth: int) -> Iterator[tuple[str, str, str, str, str, str]]:
    is_group = node.value is None and (node.children or node.offset is not None)
    raw = f"({node.length} bytes)" if is_group else _hex(node.raw)
    value = _value_text(node.value)
    yield str(node.position), raw, "  " * depth + node.name, value, node.meaning, node.problem
    for child in node.children:
        yield from _rows(child, depth + 1)


def _hex(raw: bytes) -> str:
    return raw.hex() if len(raw) <= _HEX_BYTES else f"{raw[:_HEX_BYTES].hex()}… ({len(raw)})"


def _value_text(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        try:
            value = json.dumps(value.decode("utf-8"), ensure_ascii=False)
        except UnicodeDecodeError:
            return "not UTF-8"
    text = str(value)
    return text if len(text) <= _VALUE_CHARACTERS else f"{text[:_VALUE_CHARACTERS]}…"


def _wrong(problem: str) -> str:
    return f"WRONG: {problem}" if problem else ""


def _red(text: str) -> str:
    return coloured(text, "red")
