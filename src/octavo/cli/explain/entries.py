"""Explains indexes, snapshots and small text files: one line per entry, or the anatomy of one entry."""

from __future__ import annotations

from collections.abc import Iterator

from octavo.cli.explain.show import Form, show_anatomy, show_entries
from octavo.cli.options import many
from octavo.errors import OctavoError
from octavo.format.anatomy import Node
from octavo.format.anatomy.entries import describe_entries
from octavo.format.anatomy.text_files import describe_text
from octavo.format.names import LEADER_EPOCH_CHECKPOINT, FileKind, base_offset_of
from octavo.scanner.places.location import Location

_SEARCHED = {FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX}


def explain_entries(file: Location, kind: FileKind, position: int | None, offset: int | None, form: Form) -> int:
    nodes = describe_entries(kind, memoryview(file.read()), base_offset_of(file.name))
    _check_searched(file, kind in _SEARCHED, offset)
    return _show(file, nodes, position, offset, form)


def explain_text(file: Location, name: str, position: int | None, offset: int | None, form: Form) -> int:
    """Explain a checkpoint or another small file; `name` is its name without a temporary suffix."""
    _check_searched(file, name == LEADER_EPOCH_CHECKPOINT, offset)
    return _show(file, describe_text(name, file.read()), position, offset, form)


def _check_searched(file: Location, is_searched: bool, offset: int | None) -> None:
    if offset is not None and not is_searched:
        raise OctavoError(f"{file}: its entries have no offset to search by; use --position")


def _show(file: Location, nodes: Iterator[Node], position: int | None, offset: int | None, form: Form) -> int:
    if position is not None:
        return show_anatomy(_at_position(file, nodes, position), form, str(file))
    if offset is not None:
        return show_anatomy(_at_offset(file, nodes, offset), form, str(file))
    return show_entries(nodes, form, str(file))


def _at_position(file: Location, nodes: Iterator[Node], position: int) -> Node:
    for node in nodes:
        if node.position <= position < node.position + node.length:
            return node
    size = file.entry().size
    raise OctavoError(f"{file}: position {position} is beyond the end of the file, which has {many(size, 'byte')}")


def _at_offset(file: Location, nodes: Iterator[Node], offset: int) -> Node:
    """The entry where a search for this offset begins: the last one at or before it, or in a transaction index the
    first aborted transaction whose offsets include it."""
    found, missing = None, "no entry at or before"
    for node in nodes:
        fields = {child.name: child.value for child in node.children}
        first, last = fields.get("firstOffset"), fields.get("lastOffset")
        if isinstance(first, int) and isinstance(last, int):
            if first <= offset <= last:
                return node
            missing = "no aborted transaction around"
        elif node.offset is not None and node.offset <= offset:
            found = node
    if found is None:
        raise OctavoError(f"{file}: {missing} offset {offset}")
    return found
