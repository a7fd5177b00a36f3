"""Explains logs: an overview, or the anatomy of one batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from octavo.cli.explain.open_log import BatchPlacement, FileTail, OpenLog, batch_with_byte, batch_with_offset, tail_text
from octavo.cli.explain.overview import Overview
from octavo.cli.explain.show import Form, show_anatomy, show_overview, show_page
from octavo.cli.options import many
from octavo.errors import OctavoError
from octavo.format.anatomy import Node, describe_batch, describe_incomplete
from octavo.format.names import SegmentFile
from octavo.kernels import layout
from octavo.kernels.layout import Stop
from octavo.scanner.places.location import Location

_MOST_RECORDS = 10_000
_RECORDS_ON_A_PAGE = 20


def explain_log(location: Location, position: int | None, offset: int | None, form: Form, *, all_records: bool) -> int:
    with OpenLog(location) as log:
        if position is not None:
            most = None if all_records else _MOST_RECORDS
            return show_anatomy(_at_position(log, position, most), form, log.path)
        if offset is not None:
            return show_anatomy(_at_offset(log, offset, all_records=all_records), form, log.path)
        if form == "html":
            return show_page(log.path, _batches(log))
        return show_overview(Overview(log), form)


def _batches(log: OpenLog) -> Iterator[Node]:
    """The anatomy of each batch with some of its records, and of what follows the last one."""
    for chunk in log.walk(check_crc=False):
        for row in chunk.table:
            place = BatchPlacement(chunk.file_position + int(row["position"]), int(row["size"]))
            yield _batch_node(log, place, _RECORDS_ON_A_PAGE)
        if chunk.stop is not None and chunk.stop is not Stop.END:
            yield _tail_node(log, FileTail(chunk.stop_position, chunk.stop))


def _at_position(log: OpenLog, position: int, most: int | None) -> Node:
    if position >= log.size:
        raise OctavoError(
            f"{log.path}: position {position} is beyond the end of the file, which has {many(log.size, 'byte')}"
        )
    found = batch_with_byte(log, position)
    return _tail_node(log, found) if isinstance(found, FileTail) else _batch_node(log, found, most)


def _at_offset(log: OpenLog, offset: int, *, all_records: bool) -> Node:
    segment = SegmentFile.parse(log.name)
    if segment is not None and offset < segment.base_offset:
        raise OctavoError(
            f"{log.path}: the segment begins with offset {segment.base_offset}, so it cannot hold offset {offset}"
        )
    found = batch_with_offset(log, offset)
    if isinstance(found, FileTail):
        reason = f"its batches end at position {found.position}: {tail_text(log, found)}"
        raise OctavoError(f"{log.path}: no batch extends to offset {offset}; {reason}")
    node = _batch_node(log, found)
    return node if all_records else _without_other_records(node, offset)


def _batch_node(log: OpenLog, place: BatchPlacement, most: int | None = None) -> Node:
    return describe_batch(memoryview(log.read_at(place.position, place.size)), place.position, most=most)


def _tail_node(log: OpenLog, tail: FileTail) -> Node:
    node = describe_incomplete(memoryview(log.read_at(tail.position, layout.BATCH_OVERHEAD)), tail.position)
    text = tail_text(log, tail)
    is_damage = tail.stop is Stop.SIZE_TOO_SMALL and not log.ends_in_zeros(tail.position)
    return replace(node, problem=text) if is_damage else replace(node, meaning=text)


def _without_other_records(node: Node, offset: int) -> Node:
    """Drop the fields of all records except the wanted one."""
    if node.offset is not None and node.offset != offset:
        return replace(node, children=())
    return replace(node, children=tuple(_without_other_records(child, offset) for child in node.children))
