"""What a shell can complete after an option: topics of the given log directories, and names of configs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib import import_module

import click

Complete = Callable[[click.Context, click.Parameter, str], list[str]]

_PLACES = ("logdirs", "source")  # the arguments that name what a command reads


def _topics(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The topics of the local directories already on the line."""
    return sorted({topic for place in _places(context) for topic in _topics_in(place) if topic.startswith(incomplete)})


def _places(context: click.Context) -> Iterator[str]:
    yield from context.args  # the words so far, if the line ends with an option that has no value yet
    for name in _PLACES:
        given = context.params.get(name) or ()
        yield from (given,) if isinstance(given, str) else given


def _topics_in(place: str) -> Iterator[str]:
    try:
        names = os.listdir(os.path.expanduser(place))  # noqa: PTH111, PTH208 - pathlib takes some ms to import
    except OSError:
        return
    for name in names:
        topic, dash, partition = name.rpartition("-")
        if dash and topic and partition.isdigit():
            yield topic


def _configs(module: str, *tables: str, end: str = "=") -> Complete:
    """A completion of the names in these tables; the module is imported only when it is used."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
        names = {name for table in tables for name in getattr(import_module(module), table)}
        return [f"{name}{end}" for name in sorted(names) if name.startswith(incomplete)]

    return complete


_COMPLETIONS: dict[str, Complete] = {
    "--topic": _topics,
    "--config": _configs("octavo.config", "TOPIC_CONFIGS"),
    "--delete-config": _configs("octavo.config", "TOPIC_CONFIGS", end=""),
    "--describe": _configs("octavo.config", "TOPIC_CONFIGS", "BROKER_CONFIGS", "SYNONYMS", end=""),
    "--producer-property": _configs("octavo.client.producer.config", "PRODUCER_CONFIGS"),
    "--consumer-property": _configs("octavo.client.consumer.config", "CONSUMER_CONFIGS"),
}


def with_completions(command: click.Command) -> click.Command:
    """Add completions for the values of a command's options; returns the command."""
    own = {"--config": _configs("octavo.config", "BROKER_CONFIGS", "SYNONYMS")} if command.name == "broker" else {}
    for parameter in command.params:
        for name in parameter.opts:
            if complete := {**_COMPLETIONS, **own}.get(name):
                parameter._custom_shell_complete = complete
    return command
