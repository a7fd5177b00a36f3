"""The anatomy of v2 records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from octavo.errors import CorruptionError
from octavo.format.anatomy.control import control_nodes
from octavo.format.anatomy.meanings import timestamp_meaning
from octavo.format.anatomy.node import Node
from octavo.format.batches.record_parts import RecordPart, record_parts
from octavo.format.sequence import record_sequence
from octavo.kernels import layout
from octavo.kernels.integers import signed64

_MEANINGS = {
    "length": "varint: bytes of the record after this field",
    "attributes": "not used",
    "keyLength": "varint",
    "valueLength": "varint",
    "headersCount": "varint",
    "headerKeyLength": "varint",
    "headerValueLength": "varint",
}


def describe_records(
    data: memoryview, position: int, fields: Mapping[str, int], most: int | None = None
) -> tuple[tuple[Node, ...], str]:
    """The records of a batch with these header fields, and what is wrong with them as a whole.

    Records are shown up to and including the first damaged one. After the first `most` records, a single node stands
    for all the others.
    """
    nodes: list[Node] = []
    count, at = fields["recordsCount"], 0
    if count < 0:
        return (), f"the header counts {count} records, expected 0 or more"
    for number in range(count):
        if at == len(data):
            found = "1 record" if number == 1 else f"{number} records"
            return tuple(nodes), f"{found}, expected the {count} that the header counts"
        if number == most:
            more = count - number
            what = "1 more record, which is" if more == 1 else f"{more} more records, which are"
            return (*nodes, left_out(bytes(data[at:]), position + at, what)), ""
        node = _record_node(data, at, position, number, fields)
        nodes.append(node)
        if node.problem:
            return tuple(nodes), ""
        at += node.length
    # Kafka does not read past the header of a batch with a record count of 0.
    trailing = len(data) - at if count else 0
    are_left = "1 byte is left" if trailing == 1 else f"{trailing} bytes are left"
    return tuple(nodes), f"{are_left} after the last record, expected none" if trailing else ""


def left_out(raw: bytes, position: int, what: str) -> Node:
    """A node for a part that is not shown. `what` ends with "which is" or "which are"."""
    return Node("…", position, raw, None, f"{what} not shown")


def _record_node(data: memoryview, start: int, position: int, number: int, fields: Mapping[str, int]) -> Node:
    parts: list[RecordPart] = []
    problem = ""
    try:
        parts.extend(record_parts(data, start, len(data)))
    except CorruptionError as error:
        problem = error.problem
    end = parts[-1].end if parts else len(data)
    meaning, offset = "", None
    children = [_part_node(part, data, position, fields) for part in parts if part.value is not None]
    delta = next((part.value for part in parts if part.name == "offsetDelta"), None)
    if isinstance(delta, int):
        offset = signed64(fields["baseOffset"] + delta)
        meaning = f"offset {offset}"
        if fields["baseSequence"] >= 0:
            meaning += f", sequence {record_sequence(fields['baseSequence'], delta)}"
    if fields["attributes"] & layout.CONTROL:
        children = _with_control(children)
    nested = tuple(_grouped(children))
    raw = bytes(data[start:end])
    return Node(f"record {number}", position + start, raw, None, meaning, problem, nested, offset)


def _part_node(part: RecordPart, data: memoryview, position: int, fields: Mapping[str, int]) -> Node:
    node = Node(part.name, position + part.start, bytes(data[part.start : part.end]), part.value)
    if part.name == "offsetDelta" and isinstance(part.value, int):
        return replace(node, meaning=f"varint: offset {signed64(fields['baseOffset'] + part.value)}")
    if part.name == "timestampDelta" and isinstance(part.value, int):
        own = signed64(fields["baseTimestamp"] + part.value)
        overruled = fields["attributes"] & layout.LOG_APPEND_TIME
        end = ", overruled by LogAppendTime" if overruled else ""
        return replace(node, meaning=f"varlong: timestamp {own}, {timestamp_meaning(own)}{end}")
    meaning = _MEANINGS.get(part.name, "")
    if isinstance(part.value, int) and part.name.endswith("Length") and part.value < 0:
        meaning += ": null"
    return replace(node, meaning=meaning)


def _with_control(parts: list[Node]) -> list[Node]:
    """Key and value of a control record, field by field."""
    contents = {node.name: node for node in parts if node.name in ("key", "value")}
    if "key" not in contents:
        return parts
    described = control_nodes(contents["key"], contents.get("value"))
    return [described.get(node.name, node) for node in parts]


def _grouped(parts: list[Node]) -> list[Node]:
    """The parts of each header as one node."""
    grouped: list[Node] = []
    headers: list[list[Node]] = []
    for node in parts:
        if node.name == "headerKeyLength":
            headers.append([])
        if node.name.startswith("header") and headers:
            headers[-1].append(node)
        else:
            grouped.append(node)
    for number, nodes in enumerate(headers):
        raw = b"".join(node.raw for node in nodes)
        grouped.append(Node(f"header {number}", nodes[0].position, raw, None, "", "", tuple(nodes)))
    return grouped
