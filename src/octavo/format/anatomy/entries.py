"""The anatomy of files of fixed-size entries: indexes, the transaction index, producer snapshots."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from octavo import kernels
from octavo.format.anatomy.meanings import crc_node, timestamp_meaning
from octavo.format.anatomy.node import Node, field_nodes
from octavo.format.entry_layout import EntryLayout
from octavo.format.indexes import offset_index, time_index, txn_index
from octavo.format.indexes.offset_index import OffsetIndex
from octavo.format.indexes.time_index import TimeIndex
from octavo.format.names import FileKind
from octavo.format.sequence import decrement
from octavo.format.small_files import producer_snapshot
from octavo.system.shown import count

# Takes the field values by name and the segment's base offset, and returns the meaning of an entry.
Meaning = Callable[[dict[str, int], int], str]

_WORD_START = re.compile("_([a-z])")


def describe_entries(kind: FileKind, data: memoryview, base_offset: int) -> Iterator[Node]:
    """The nodes of a whole file; one stands for the zeros at the end of a pre-sized index, one for a cut-off entry."""
    layout, meaning = _KINDS[kind]
    at = 0
    if kind is FileKind.PRODUCER_SNAPSHOT:
        yield _snapshot_header(data)
        at = producer_snapshot.HEADER.size
    end = len(data)
    if kind in _INDEXES:
        index = _INDEXES[kind].decode(data, base_offset)
        end = (len(index) - index.zero_tail()) * layout.size
    for number in range(max(end - at, 0) // layout.size):
        yield _entry(layout, data[at : at + layout.size], at, f"entry {number}", meaning, base_offset)
        at += layout.size
    unused = (len(data) - end) // layout.size
    if unused:
        entries = "1 entry" if unused == 1 else f"{unused} entries"
        meaning_of_zeros = f"{entries} of zeros: a file keeps its full size until it is closed"
        content = bytes(data[end : end + unused * layout.size])
        yield Node("unused", end, content, None, meaning_of_zeros)
        at = end + len(content)
    if at < len(data):
        problem = f"{count(len(data) - at, 'byte')}, expected an entry of {layout.size}"
        yield Node("rest", at, bytes(data[at:]), None, "", problem)


def _entry(layout: EntryLayout, data: memoryview, position: int, name: str, meaning: Meaning, base_offset: int) -> Node:
    nodes = field_nodes(layout.forms, data, position, {})
    values = {node.name: node.value for node in nodes if isinstance(node.value, int)}
    children = tuple(replace(node, name=_WORD_START.sub(lambda word: word[1].upper(), node.name)) for node in nodes)
    # Producer snapshots and transaction indexes are not searched by offset.
    offset = base_offset + values["relative_offset"] if "relative_offset" in values else None
    return Node(name, position, bytes(data), None, meaning(values, base_offset), "", children, offset)


def _snapshot_header(data: memoryview) -> Node:
    nodes = field_nodes(producer_snapshot.HEADER_FIELDS, data, 0, {"count": lambda _: "producers"})
    covered = data[producer_snapshot.COUNT_POSITION :]
    children = tuple(
        crc_node(node, "CRC-32C", kernels.crc32c(covered), len(covered)) if node.name == "crc" else node
        for node in nodes
    )
    size = producer_snapshot.HEADER.size
    problem = "" if len(data) >= size else f"{count(len(data), 'byte')}, expected at least {size}"
    return Node("header", 0, bytes(data[:size]), None, "", problem, children)


def _offset_meaning(fields: dict[str, int], base_offset: int) -> str:
    return f"offset {base_offset + fields['relative_offset']} is in or after the batch at position {fields['position']}"


def _time_meaning(fields: dict[str, int], base_offset: int) -> str:
    text = timestamp_meaning(fields["timestamp"])
    return f"up to offset {base_offset + fields['relative_offset']} no timestamp is later than {text}"


def _txn_meaning(fields: dict[str, int], _: int) -> str:
    aborted = f"producer {fields['producer_id']} aborted offsets {fields['first_offset']} to {fields['last_offset']}"
    return f"{aborted}; the last stable offset was {fields['last_stable_offset']}"


def _producer_meaning(fields: dict[str, int], _: int) -> str:
    start = f"producer {fields['producer_id']}, epoch {fields['epoch']}"
    first_offset = fields["current_txn_first_offset"]
    open_txn = f", open transaction since offset {first_offset}" if first_offset >= 0 else ""
    if fields["last_offset"] < 0:
        return f"{start}, no batch known{open_txn}"
    sequences = f"{decrement(fields['last_sequence'], fields['offset_delta'])} to {fields['last_sequence']}"
    return f"{start}: sequences {sequences} up to offset {fields['last_offset']}{open_txn}"


_INDEXES: dict[FileKind, type[OffsetIndex | TimeIndex]] = {
    FileKind.OFFSET_INDEX: OffsetIndex,
    FileKind.TIME_INDEX: TimeIndex,
}
_KINDS: dict[FileKind, tuple[EntryLayout, Meaning]] = {
    FileKind.OFFSET_INDEX: (offset_index.ENTRY, _offset_meaning),
    FileKind.TIME_INDEX: (time_index.ENTRY, _time_meaning),
    FileKind.TXN_INDEX: (txn_index.ENTRY, _txn_meaning),
    FileKind.PRODUCER_SNAPSHOT: (producer_snapshot.ENTRY, _producer_meaning),
}
