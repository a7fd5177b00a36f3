"""`octavo alter`: changes a topic's configs or adds partitions."""

from __future__ import annotations

from collections.abc import Iterable

import click

from octavo.cli.options import command as declare
from octavo.cli.options import (
    configs_option,
    echo,
    json_option,
    logdirs_argument,
    many,
    print_json,
    topic_configs,
    topic_option,
)
from octavo.cli.owner import Ownership, owned
from octavo.config import TOPIC_CONFIGS, LogConfig, as_text
from octavo.config.table import unknown
from octavo.errors import InvalidPartitionsError
from octavo.jobs.directories import check_topics


def _known(_: click.Context, __: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in TOPIC_CONFIGS:
            raise click.BadParameter(str(unknown("topic config", name, TOPIC_CONFIGS)))
    return names


@declare("alter")
@logdirs_argument
@topic_option
@configs_option(topic_configs, "A config to set")
@click.option(
    "--delete-config", "deleted", multiple=True, metavar="KEY", callback=_known,
    help="A config to reset to its default.",
)  # fmt: skip
@click.option("--partitions", type=click.IntRange(min=1), metavar="N", help="The new total number of partitions.")
@json_option
def command(
    logdirs: tuple[str, ...],
    topic: str,
    configs: dict[str, str],
    deleted: tuple[str, ...],
    partitions: int | None,
    as_json: bool,
) -> None:
    """Change a topic's configs, or add partitions.

    One line per config says its new and its old value. Everything is checked before anything changes.
    """
    twice = sorted(set(configs) & set(deleted))
    if twice:
        raise click.UsageError(f"{twice[0]} is both set and deleted")
    if not configs and not deleted and partitions is None:
        raise click.UsageError("nothing to change: give --config, --delete-config or --partitions")
    check_topics(logdirs, [topic])
    names = [*configs, *deleted]
    with owned(logdirs, Ownership(only=[topic])) as logs:
        if partitions is not None:
            logs.check_complete(topic)
            known = len(logs.topics[topic])
            if partitions <= known:
                raise InvalidPartitionsError(f"topic {topic}: the new total of partitions must be larger than {known}")
        before = _values(names, logs.config(topic))
        after = _values(names, logs.alter_configs(topic, {**configs, **dict.fromkeys(deleted)})) if names else {}
        if partitions is not None:
            logs.create_partitions(topic, partitions)
        count = len(logs.topics[topic])
    if as_json:
        print_json({"topic": topic, "partitions": count, "configs": after})
        return
    for name, value in after.items():
        echo(f"{topic}: {name}={value} (was {before[name]})")
    if partitions is not None:
        echo(f"{topic}: {many(count, 'partition')}")


def _values(names: Iterable[str], config: LogConfig) -> dict[str, str]:
    return {name: as_text(getattr(config, TOPIC_CONFIGS[name].attribute)) for name in names}
