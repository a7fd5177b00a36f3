"""Anatomy and overview as JSON objects."""

from __future__ import annotations

import base64
from typing import Any

from octavo.cli.explain.overview import Summary
from octavo.format.anatomy import Node, Value


def node_json(node: Node) -> dict[str, Any]:
    """A node with its children; `problem` only where there is one."""
    fields: dict[str, Any] = {
        "position": node.position,
        "length": node.length,
        "bytes": node.raw.hex(),
        "field": node.name,
        "value": _value_json(node.value),
        "meaning": node.meaning,
    }
    if node.children and node.value is None:
        del fields["bytes"], fields["value"]  # the children have them
    if node.offset is not None:
        fields["offset"] = node.offset
    if node.problem:
        fields["problem"] = node.problem
    if node.children:
        fields["children"] = [node_json(child) for child in node.children]
    return fields


def summary_json(summary: Summary) -> dict[str, Any]:
    return summary._asdict()


def _value_json(value: Value) -> Any:
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode("ascii")}
