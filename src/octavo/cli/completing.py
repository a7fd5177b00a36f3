"""What a shell can complete after an option: topics of the given log directories, and names of configs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

import click

Complete = Callable[[click.Context, click.Parameter, str], list[str]]

_PLACES = ("logdirs", "source")  # the arguments that name log directories


def _topics(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The topics of the directories already on the line; URLs are not listed."""
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


def _configs(names: Callable[[], Iterable[str]], end: str = "=") -> Complete:
    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
        return [f"{name}{end}" for name in sorted(names()) if name.startswith(incomplete)]

    return complete


def _topic_configs() -> Iterable[str]:
    from octavo.config import TOPIC_CONFIGS

    return TOPIC_CONFIGS


def _producer_configs() -> Iterable[str]:
    from octavo.client.producer.config import PRODUCER_CONFIGS

    return PRODUCER_CONFIGS


def _consumer_configs() -> Iterable[str]:
    from octavo.client.consumer.config import CONSUMER_CONFIGS

    return CONSUMER_CONFIGS


def _all_configs() -> Iterable[str]:
    from octavo.config import BROKER_CONFIGS, SYNONYMS, TOPIC_CONFIGS

    return {*TOPIC_CONFIGS, *BROKER_CONFIGS, *SYNONYMS}


def _broker_configs() -> Iterable[str]:
    from octavo.config import BROKER_CONFIGS, SYNONYMS

    return {*BROKER_CONFIGS, *SYNONYMS}


_COMPLETIONS: dict[str, Complete] = {
    "--topic": _topics,
    "--config": _configs(_topic_configs),
    "--delete-config": _configs(_topic_configs, ""),
    "--describe": _configs(_all_configs, ""),
    "--producer-property": _configs(_producer_configs),
    "--consumer-property": _configs(_consumer_configs),
}


def with_completions(command: click.Command) -> click.Command:
    """The command, with completions for the values of its options."""
    own = {"--config": _configs(_broker_configs)} if command.name == "broker" else {}
    for parameter in command.params:
        for name in parameter.opts:
            if complete := {**_COMPLETIONS, **own}.get(name):
                parameter._custom_shell_complete = complete
    return command
