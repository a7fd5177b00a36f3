"""Print what was found, as text or JSON; the exit code says whether something is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable

import click

from octavo.cli.explain.json_form import node_json, summary_json
from octavo.cli.explain.overview import Overview
from octavo.cli.explain.text import anatomy_lines, entry_lines, overview_lines, tail_lines
from octavo.cli.options import print_json
from octavo.format.anatomy import Node


def show_anatomy(node: Node, as_json: bool) -> int:
    if as_json:
        print_json(node_json(node))
    else:
        for line in anatomy_lines(node):
            click.echo(line)
    return int(any(node.problems()))


def show_overview(overview: Overview, as_json: bool) -> int:
    if as_json:
        for summary in overview:
            print_json(summary_json(summary))
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
            print_json(node_json(node))
        else:
            for line in entry_lines(node):
                click.echo(line)
    return int(damaged)
