"""Anatomy and overview as text: aligned columns, problems in red on a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator

from octavo.cli.explain.overview import Overview, Summary
from octavo.cli.options import coloured
from octavo.format.anatomy import Node, Value

_HEX_BYTES = 12
_VALUE_CHARACTERS = 24
_OVERVIEW = "{:>10}  {:>12}  {:>12}  {:>8}  {:>9}  {:>5}  {:<6}  {}"


def anatomy_lines(node: Node) -> Iterator[str]:
    """A line a node, its name indented by its depth."""
    rows = [("position", "bytes", "field", "value", "meaning", ""), *_rows(node, 0)]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for position, raw, name, value, meaning, problem in rows:
        start = f"{position:>{widths[0]}}  {raw:<{widths[1]}}  {name:<{widths[2]}}  {value:<{widths[3]}}  "
        yield f"{start}{meaning}{'; ' if meaning and problem else ''}{_marked(problem)}".rstrip()


def overview_lines(summaries: Iterator[Summary]) -> Iterator[str]:
    columns = "position", "base offset", "last offset", "records", "size", "magic", "codec", "flags"
    yield _OVERVIEW.format(*columns)
    for batch in summaries:
        known = ["?" if value is None else value for value in batch[:6]]
        flags = ", ".join(batch.flags)
        problems = _marked(", ".join(batch.problems))
        notes = f"{flags}{'; ' if flags and problems else ''}{problems}"
        yield _OVERVIEW.format(*known, batch.codec or "?", notes).rstrip()


def tail_line(overview: Overview) -> str:
    return f"{overview.tail.position:>10}  {overview.tail_text()}"


def entry_line(node: Node) -> str:
    """An entry of an index, a snapshot or a text file on one line."""
    shown = f"({node.length} bytes)" if node.value is None and not node.children else _shown(node)
    problem = _marked("; ".join(bad.problem for bad in node.problems()))
    meaning = f"{node.meaning or node.name}{'; ' if problem else ''}{problem}"
    return f"{node.position:>10}  {shown}  {meaning}"


def _shown(node: Node) -> str:
    """Text as it is, and bytes in hex."""
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


def _marked(problem: str) -> str:
    return coloured(f"WRONG: {problem}", "red") if problem else ""
