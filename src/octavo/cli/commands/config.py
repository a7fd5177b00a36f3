"""`octavo config`: the table of configs, or one config in full."""

from __future__ import annotations

import itertools
import shutil
import sys
from collections.abc import Iterator, Sequence

import click

from octavo.cli.options import command as declare
from octavo.cli.options import json_option, print_json
from octavo.cli.units import config_cell
from octavo.config import BROKER_CONFIGS, TOPIC_CONFIGS, ConfigKey, Unit, as_text, find
from octavo.errors import ConfigError

COLUMNS = ("name", "of", "type", "default", "range", "broker synonyms", "meaning")
_NARROWEST = 40


def _find(_: click.Context, __: click.Parameter, name: str | None) -> ConfigKey | None:
    try:
        return None if name is None else find(name)
    except ConfigError as error:
        raise click.BadParameter(str(error)) from error


@declare("config")
@click.option(
    "--describe", "key", metavar="KEY", callback=_find,
    help="Show everything about one config; it may be a broker's synonym.",
)  # fmt: skip
@json_option
def command(key: ConfigKey | None, as_json: bool) -> None:
    """Show the configs of topics and brokers.

    For each: name, type, default, range, meaning, and the broker configs that give a topic config its default, of which
    the first one that is set wins. In a pipe, the table has one line per config.
    """
    keys = [*TOPIC_CONFIGS.values(), *BROKER_CONFIGS.values()] if key is None else [key]
    if as_json:
        for row in keys:
            print_json(_json(row))
        return
    if key is not None:
        lines = _description(key)
    elif sys.stdout.isatty():
        lines = itertools.chain.from_iterable(map(_entry, keys))
    else:
        lines = _columns(keys)
    for line in lines:
        click.echo(line)


def _scope(key: ConfigKey) -> str:
    return "topic" if TOPIC_CONFIGS.get(key.name) is key else "broker"


def _json(key: ConfigKey) -> dict[str, object]:
    return {
        "name": key.name,
        "scope": _scope(key),
        "type": key.kind.name,
        "default": None if key.default is None else as_text(key.default),
        "range": str(key.valid),
        "meaning": key.doc,
        "brokerSynonyms": [
            {"name": synonym.name, "unit": None if synonym.unit is Unit.SAME else synonym.unit.name.lower()}
            for synonym in key.synonyms
        ],
        "internal": key.internal,
    }


def _description(key: ConfigKey) -> Iterator[str]:
    """Everything about one config."""
    scope = _scope(key)
    unless = ", unless it is set" if scope == "broker" else ""
    hidden = f" (internal: brokers accept it but do not list it{unless})" if key.internal else ""
    facts = {
        "config of": f"a {scope}{hidden}",
        "type": key.kind.name,
        "default": config_cell(key.name, key.default_text),
        "range": str(key.valid),
        "broker": ", ".join(map(str, key.synonyms)),
    }
    yield click.style(key.name, bold=True)
    yield _wrapped(key.doc)
    for name, fact in facts.items():
        if fact:
            yield _wrapped(fact, f"{name:<11}")


def _entry(key: ConfigKey) -> Iterator[str]:
    """A config of the table, on a terminal."""
    default = config_cell(key.name, key.default_text)
    facts = f"{key.kind.name}, default {default}" + (f", {key.valid}" if str(key.valid) else "")
    yield f"{click.style(key.name, bold=True)}  ({_scope(key)})"
    yield _wrapped(facts)
    yield _wrapped(key.summary)
    if key.synonyms:
        yield _wrapped(", ".join(map(str, key.synonyms)), "broker: ")


def _wrapped(text: str, start: str = "") -> str:
    width = max(shutil.get_terminal_size().columns, _NARROWEST)
    return click.wrap_text(text, width, f"    {start}", " " * (4 + len(start)))


def _columns(keys: Sequence[ConfigKey]) -> Iterator[str]:
    """One line per config."""
    rows = [COLUMNS]
    for key in keys:
        synonyms = ", ".join(map(str, key.synonyms))
        rows.append((key.name, _scope(key), key.kind.name, key.default_text, str(key.valid), synonyms, key.summary))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
