"""`octavo delete`: deletes topics and everything in them."""

from __future__ import annotations

import click

from octavo.cli.options import command as declare
from octavo.cli.options import echo, json_option, logdirs_argument, many, print_json
from octavo.cli.owner import Ownership, owned
from octavo.jobs.directories import check_topics, known_topics


@declare("delete")
@logdirs_argument
@click.option("--topic", "topics", multiple=True, required=True, metavar="T", help="A topic; may be repeated.")
@click.option("--if-exists", is_flag=True, help="Ignore a topic that does not exist.")
@json_option
def command(logdirs: tuple[str, ...], topics: tuple[str, ...], if_exists: bool, as_json: bool) -> None:
    """Delete topics with their records, configs and checkpoint lines.

    Like a broker, the command first renames a partition's folder to end in -delete, and then removes it.
    """
    if if_exists:
        there = known_topics(logdirs)
        topics = tuple(topic for topic in topics if topic in there)
    check_topics(logdirs, topics)
    with owned(logdirs, Ownership(only=topics)) as logs:
        for topic in topics:
            partitions = logs.topics[topic]
            logs.delete_topic(topic)
            if as_json:
                print_json({"topic": topic, "partitions": partitions})
            else:
                echo(f"{topic}: deleted, {many(len(partitions), 'partition')}")
