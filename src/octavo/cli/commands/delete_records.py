"""`octavo delete-records`: makes partitions' logs start at a later offset."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import click

from octavo.cli.options import command as declare
from octavo.cli.options import echo, json_option, logdirs_argument, path_type, print_json
from octavo.cli.owner import Ownership, owned
from octavo.errors import KafkaError, OctavoError
from octavo.format.names import TopicPartition
from octavo.jobs.directories import check_topics


@declare("delete-records")
@logdirs_argument
@click.option("--topic", metavar="T", help="The topic.")
@click.option("--partition", type=click.IntRange(min=0), metavar="P", help="The number of the partition.")
@click.option("--offset", type=click.IntRange(min=-1), metavar="N", help="The first offset to keep; -1: the log's end.")
@click.option(
    "--offset-json-file",
    "file",
    type=path_type,
    metavar="FILE",
    help="Offsets of many partitions, in the format of kafka-delete-records.",
)
@json_option
def command(
    logdirs: tuple[str, ...],
    topic: str | None,
    partition: int | None,
    offset: int | None,
    file: str | None,
    as_json: bool,
) -> int:
    """Make the logs of partitions start at an offset: records before it can no longer be read.

    Records before the offset are removed when retention deletes their segments. FILE holds
    {"partitions": [{"topic": "t", "partition": 0, "offset": 25}], "version": 1}.
    """
    if file is not None and (topic, partition, offset) == (None, None, None):
        wanted = _read(Path(file))
    elif file is None and topic is not None and partition is not None and offset is not None:
        wanted = {TopicPartition(topic, partition): offset}
    else:
        raise click.UsageError("give --topic, --partition and --offset, or only --offset-json-file")
    for topic_partition in wanted:
        check_topics(logdirs, [topic_partition.topic], topic_partition.partition)
    failed = 0
    with owned(logdirs, Ownership(only=list(wanted))) as logs:
        for topic_partition, first_kept in wanted.items():
            try:
                start = logs.log(*topic_partition).delete_records(first_kept)
            except KafkaError as error:
                failed += 1
                echo(f"octavo: {topic_partition}: {error}", err=True)
                continue
            if as_json:
                print_json({**topic_partition._asdict(), "logStartOffset": start})
            else:
                echo(f"{topic_partition}: starts at offset {start}")
    return 1 if failed else 0


def _read(path: Path) -> dict[TopicPartition, int]:
    """The offsets in a file in the format of kafka-delete-records."""
    try:
        content = json.loads(path.read_bytes())
    except ValueError as error:
        raise OctavoError(f"{path}: not JSON: {error}") from None
    rows = content.get("partitions") if isinstance(content, Mapping) else None
    if not isinstance(rows, list):
        raise OctavoError(f'{path}: expected a list under "partitions"')
    if content.get("version", 1) != 1:
        raise OctavoError(f"{path}: version {json.dumps(content['version'])}, expected 1")
    wanted: dict[TopicPartition, int] = {}
    for row in rows:
        topic_partition = _topic_partition(row, path)
        if topic_partition in wanted:
            raise OctavoError(f"{path}: {topic_partition} is named twice")
        wanted[topic_partition] = row["offset"]
    return wanted


def _topic_partition(row: object, path: Path) -> TopicPartition:
    expected = {"topic": str, "partition": int, "offset": int}
    if not isinstance(row, Mapping) or any(type(row.get(name)) is not kind for name, kind in expected.items()):
        fields = '"topic" (text), "partition" and "offset" (whole numbers)'
        raise OctavoError(f"{path}: expected {fields}, found {json.dumps(row)}")
    return TopicPartition(row["topic"], row["partition"])
