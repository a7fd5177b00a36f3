"""Prints what was found, as text, JSON or HTML; returns the exit code, 1 if what is shown is damaged."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from itertools import islice
from typing import Any, Literal

import click

from octavo.cli.explain.overview import Overview
from octavo.cli.explain.text import anatomy_lines, entry_lines, overview_lines
from octavo.cli.options import print_json
from octavo.format.anatomy import Node, NodeValue

Form = Literal["text", "json", "html"]
_MOST_NODES = 200  # on a page


def show_anatomy(node: Node, form: Form, title: str) -> int:
    if form == "json":
        print_json(_node_json(node))
    elif form == "html":
        return show_page(title, [node])
    else:
        for line in anatomy_lines(node):
            click.echo(line)
    return int(any(node.problems()))


def show_overview(overview: Overview, form: Form) -> int:
    if form == "json":
        for summary in overview:
            print_json(summary._asdict())
        position, stop = overview.tail
        print_json({"position": position, "stop": stop.name, "meaning": overview.tail_text()})
    else:
        for line in overview_lines(overview):
            click.echo(line)
    return int(overview.has_problems)


def show_page(title: str, nodes: Iterable[Node]) -> int:
    """Print a page with the first nodes."""
    from octavo.cli.explain.html import html_page

    found = list(islice(nodes, _MOST_NODES + 1))
    cut = f"Only the first {_MOST_NODES} batches or entries are shown; --position shows any other."
    more = cut if found[_MOST_NODES:] else ""
    click.echo(html_page(title, found[:_MOST_NODES], more))
    return int(any(True for node in found[:_MOST_NODES] for _ in node.problems()))


def show_entries(nodes: Iterable[Node], form: Form, title: str) -> int:
    if form == "html":
        return show_page(title, nodes)
    damaged, node = False, None
    for node in nodes:
        damaged = damaged or any(node.problems())
        if form == "json":
            print_json(_node_json(node))
        else:
            for line in entry_lines(node):
                click.echo(line)
    if node is None and form == "text":
        click.echo(f"{0:>10}  the file is empty: it has no entries yet")
    return int(damaged)


def _node_json(node: Node) -> dict[str, Any]:
    """A node with its children; `offset`, `problem` and `children` only if it has them."""
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


def _value_json(value: NodeValue) -> Any:
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode("ascii")}
