"""Indexes, snapshots and small text files: a line an entry, or the anatomy of one of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from octavo.cli.explain.show import show_anatomy, show_entries
from octavo.errors import OctavoError
from octavo.format.anatomy import Node
from octavo.format.anatomy.entries import describe_entries
from octavo.format.anatomy.text_files import describe_text
from octavo.format.names import FileKind, base_offset_of


def explain_entries(file: Path, kind: FileKind, position: int | None, offset: int | None, as_json: bool) -> int:
    nodes = describe_entries(kind, memoryview(file.read_bytes()), base_offset_of(file.name))
    return _show(file, nodes, position, offset, as_json)


def explain_text(file: Path, name: str, position: int | None, offset: int | None, as_json: bool) -> int:
    """Of a checkpoint or another small file of this name."""
    return _show(file, describe_text(name, file.read_bytes()), position, offset, as_json)


def _show(file: Path, nodes: Iterator[Node], position: int | None, offset: int | None, as_json: bool) -> int:
    if position is not None:
        return show_anatomy(_at_position(file, nodes, position), as_json)
    if offset is not None:
        return show_anatomy(_at_offset(file, nodes, offset), as_json)
    return show_entries(nodes, as_json)


def _at_position(file: Path, nodes: Iterator[Node], position: int) -> Node:
    for node in nodes:
        if node.position <= position < node.position + node.length:
            return node
    size = file.stat().st_size
    raise OctavoError(f"{file}: position {position} lies behind the end of the file of {size} bytes")


def _at_offset(file: Path, nodes: Iterator[Node], offset: int) -> Node:
    """The entry that a search for this offset begins with: the last one up to it."""
    found = None
    for node in nodes:
        if node.offset is not None and node.offset <= offset:
            found = node
    if found is None:
        raise OctavoError(f"{file}: no entry for offset {offset} or one before it")
    return found
