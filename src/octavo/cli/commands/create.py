"""`octavo create`: creates a topic."""

from __future__ import annotations

import click

from octavo.cli.options import command as declare
from octavo.cli.options import (
    configs_option,
    echo,
    json_option,
    logdirs_argument,
    print_json,
    topic_configs,
    topic_option,
)
from octavo.cli.owner import Ownership, owned
from octavo.errors import TopicExistsError
from octavo.format import kafka_uuid
from octavo.storage.directory.topic_admin import check_topic_name


@declare("create")
@logdirs_argument
@topic_option
@click.option("--partitions", type=click.IntRange(min=1), metavar="N", help="How many partitions; default: 1.")
@configs_option(topic_configs, "A config of the new topic")
@click.option("--if-not-exists", is_flag=True, help="Do nothing if the topic exists.")
@json_option
def command(
    logdirs: tuple[str, ...],
    topic: str,
    partitions: int | None,
    configs: dict[str, str],
    if_not_exists: bool,
    as_json: bool,
) -> None:
    """Create a topic in LOGDIR, which is created too if it is missing.

    With several log directories, each partition goes to the one with the fewest partitions that is not cordoned.
    Configs are kept in octavo-topics.json, in every log directory.
    """
    check_topic_name(topic)  # before a directory is created for it
    with owned(logdirs, Ownership(only=[topic], create=True)) as logs:
        try:
            topic_id = logs.create_topic(topic, partitions, configs)
        except TopicExistsError:
            if not if_not_exists:
                raise
            echo(f"octavo: topic {topic} already exists", err=True)
            return
        folders = [str(logs.log(topic, partition).folder) for partition in logs.topics[topic]]
        if as_json:
            text = kafka_uuid.to_text(topic_id)
            print_json({"topic": topic, "topicId": text, "partitions": len(folders), "folders": folders})
            return
        for folder in folders:
            echo(folder)
