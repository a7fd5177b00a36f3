"""The anatomy of a control record's key and value."""

from __future__ import annotations

from dataclasses import replace

from octavo.errors import CorruptionError
from octavo.format.anatomy.node import Node, field_nodes
from octavo.format.batches.control import (
    KEY_FIELDS,
    MARKER_VALUE_FIELDS,
    MARKERS,
    ControlType,
    control_type_id,
    decode_control,
)
from octavo.format.messages.record_json import kraft_control_json


def control_nodes(key: Node, value: Node | None) -> dict[str, Node]:
    """Key and value, by name, with their fields as children (a KRaft value as JSON); unreadable ones have a problem."""
    key_content = key.value if isinstance(key.value, bytes) else None
    try:
        control_type = ControlType(control_type_id(key_content))
    except CorruptionError as error:
        return {"key": replace(key, problem=error.problem)}
    fields = field_nodes(KEY_FIELDS, memoryview(key.raw), key.position, {})
    fields[1] = replace(fields[1], meaning=control_type.name)
    nodes = {"key": replace(key, value=None, meaning=f"control record: {control_type.name}", children=tuple(fields))}
    if value is not None:
        nodes["value"] = _value(value, key_content, control_type)
    return nodes


def _value(node: Node, key: bytes | None, control_type: ControlType) -> Node:
    content = node.value if isinstance(node.value, bytes) else None
    try:
        found = decode_control(key, content)
    except CorruptionError as error:
        return replace(node, problem=error.problem)
    if control_type in MARKERS:
        fields = field_nodes(MARKER_VALUE_FIELDS, memoryview(node.raw), node.position, {})
        return replace(node, value=None, meaning=f"the transaction's end: {control_type.name}", children=tuple(fields))
    if isinstance(found, dict):
        return replace(node, meaning=kraft_control_json(control_type, found))
    return node
