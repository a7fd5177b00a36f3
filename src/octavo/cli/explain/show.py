"""Prints what was found, as text or JSON; the exit code says whether something is wrong with it."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

import click

from octavo.cli.explain.overview import Overview
from octavo.cli.explain.text import anatomy_lines, entry_lines, overview_lines, tail_lines
from octavo.cli.options import print_json
from octavo.format.anatomy import Node, Value


def show_anatomy(node: Node, as_json: bool) -> int:
    if as_json:
        print_json(_node_json(node))
    else:
        for line in anatomy_lines(node):
            click.echo(line)
    return int(any(node.problems()))


def show_overview(overview: Overview, as_json: bool) -> int:
    if as_json:
        for summary in overview:
            print_json(summary._asdict())
        position, stop = overview.tail
        print_json({"position": position, "stop": stop.name, "meaning": overview.tail_text()})
    else:
        for line in overview_lines(iter(overview)):
            click.echo(line)
        for line in tail_lines(overview):
            click.echo(line)
    return int(overview.has_problems)


def show_entries(nodes: Iterable[Node], as_json: bool) -> int:
    damaged = False
    for node in nodes:
        damaged = damaged or any(node.problems())
        if as_json:
            print_json(_node_json(node))
        else:
            for line in entry_lines(node):
                click.echo(line)
    return int(damaged)


def _node_json(node: Node) -> dict[str, Any]:
    """A node with its children; `problem` only if there is one."""
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
        fields["children"] = [_node_json(child) for child in node.children]
    return fields


def _value_json(value: Value) -> Any:
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode("ascii")}
