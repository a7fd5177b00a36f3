"""`octavo produce`: reads records from stdin or files and sends them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from octavo.cli.options import command as declare
from octavo.cli.options import echo, json_option, logdirs_argument, many, print_json, topic_option
from octavo.cli.owner import Ownership, owned_as
from octavo.cli.produce.json_lines import read_json
from octavo.cli.produce.lines import LineForm, read_lines
from octavo.cli.produce.options import produce_options
from octavo.cli.produce.send import send_records, send_table
from octavo.client.log_dir import LogDir
from octavo.client.producer.producer import Producer
from octavo.errors import LogDirError, OctavoError, UnknownTopicOrPartitionError, no_such_topic
from octavo.jobs.directories import known_topics
from octavo.system.urls import local_path

_BY_SUFFIX = {
    ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet", ".arrow": "arrow", ".arrows": "arrow",
    ".ipc": "arrow", ".feather": "arrow",
}  # fmt: skip


@declare("produce")
@logdirs_argument
@topic_option
@produce_options
@json_option
def command(
    logdirs: tuple[str, ...],
    topic: str,
    files: tuple[str, ...],
    form: str | None,
    key_separator: str | None,
    properties: dict[str, str],
    shown: str,
    repartition: bool,
    compression_type: str | None,
    producer_properties: dict[str, str],
    as_json: bool,
) -> None:
    """Append records from stdin or files to a topic of LOGDIR, and print which offsets they got.

    As in Kafka's producer, batches are filled up to batch.size, partitions are chosen, and ids and sequences assigned.
    With a transactional.id all records are one transaction; its markers take offsets too.
    """
    separator = None if key_separator is None else key_separator.replace("\\t", "\t")
    line_form = LineForm.of(properties, separator)
    configs = dict(producer_properties)
    if compression_type is not None:
        configs["compression.type"] = compression_type
    # A transaction may first have to end one that a crash interrupted, whatever partitions that one wrote to.
    only = None if "transactional.id" in configs else [topic]
    _check_exist(logdirs, topic)
    with owned_as(LogDir, logdirs, Ownership(only=only, runs_when_due=True)) as logs:
        if topic not in logs.topics:
            raise UnknownTopicOrPartitionError(
                f"{', '.join(logdirs)}: {no_such_topic(topic, known_topics(logdirs))}; `octavo create` creates it"
            )
        producer = logs.producer(configs)
        with _sending(logs, producer, topic, as_json=as_json):
            for path in files or ("-",):
                kind = form or _BY_SUFFIX.get(Path(path).suffix.lower(), "lines")
                with _opened(path) as source:
                    if kind in ("arrow", "parquet"):
                        send_table(producer, topic, source, kind, repartition=repartition)
                    else:
                        records = read_json(source, shown) if kind == "json" else read_lines(source, line_form)
                        send_records(producer, topic, records, repartition=repartition)


def _check_exist(logdirs: Sequence[str], topic: str) -> None:
    """Raise for a missing directory; the error names the command that creates it."""
    for logdir in logdirs:
        path = local_path(logdir)
        if path is not None and not Path(path).exists():
            line = shlex.join(["octavo", "create", path, "--topic", topic])
            raise LogDirError(f"{logdir}: no such directory; `{line}` creates it with the topic")


@contextmanager
def _sending(logs: LogDir, producer: Producer, topic: str, *, as_json: bool) -> Iterator[None]:
    """Send records within the block; at its end all are appended, or an error is raised. Then print which offsets they
    got, even after an error, unless that aborts them all."""
    if producer.config.transactional_id is not None:
        with producer:
            with producer.transaction():
                before = _ends(logs, topic)
                yield
                producer.flush()
                after = _ends(logs, topic)  # the transaction's markers follow
            _report(topic, before, after, as_json)
        return
    before = _ends(logs, topic)
    try:
        with producer:
            yield
    except Exception:
        _report(topic, before, _ends(logs, topic), as_json)
        raise
    _report(topic, before, _ends(logs, topic), as_json)


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    """Open a source for reading; an error within the block names it."""
    if path == "-":
        yield sys.stdin.buffer
        return
    with Path(path).open("rb") as file:
        try:
            yield file
        except OctavoError as error:
            error.add_note(path)
            raise


def _ends(logs: LogDir, topic: str) -> dict[int, int]:
    return {partition: logs.log(topic, partition).log_end_offset for partition in logs.topics[topic]}


def _report(topic: str, before: dict[int, int], after: dict[int, int], as_json: bool) -> None:
    for partition, end in after.items():
        first = before[partition]
        if end == first:
            continue
        if as_json:
            print_json({"topic": topic, "partition": partition, "baseOffset": first, "nextOffset": end})
        else:
            offsets = f"offset {first}" if end - first == 1 else f"offsets {first} to {end - 1}"
            echo(f"{topic}-{partition}: {many(end - first, 'record')}, {offsets}")
