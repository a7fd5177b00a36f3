"""Sends the records of one source; an error about a line of text or JSON names it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import BinaryIO

from octavo.cli.produce.lines import Input
from octavo.client.producer.producer import Producer
from octavo.errors import OctavoError, RecordsRejected


def send_records(producer: Producer, topic: str, records: Iterator[Input], *, repartition: bool) -> None:
    """Send records and wait for them; stops at the first error."""
    failures: list[tuple[int, Exception]] = []  # the lines of records that did not get into the log, and why

    def note(line: int, error: Exception) -> None:
        failures.append((line, error))

    for record in records:
        partition = None if repartition else record.partition
        try:
            future = producer.send(topic, record.value, record.key, record.headers, partition, record.timestamp)
        except OctavoError as error:
            error.add_note(f"line {record.line}")
            raise
        future.add_errback(partial(note, record.line))
        if failures:
            break
    producer.flush()
    if failures:
        raise _first_error(failures)


def send_table(producer: Producer, topic: str, source: BinaryIO, kind: str, *, repartition: bool) -> None:
    """Send the rows of an Arrow or Parquet source."""
    from octavo.client.producer.arrow import (  # pyarrow takes long to import
        read_arrow,
        read_parquet,
        without_partitions,
    )

    batches = read_arrow(source) if kind == "arrow" else read_parquet(source)
    producer.send_table(topic, without_partitions(batches) if repartition else batches)


def _first_error(failures: list[tuple[int, Exception]]) -> Exception:
    """The first error, with the line of the record at fault; if that is not known, with the first line of its batch."""
    line, error = failures[0]
    lines = [number for number, other in failures if other is error]
    if isinstance(error, RecordsRejected) and error.record_errors:
        line = lines[min(error.record_errors[0].batch_index, len(lines) - 1)]
    error.add_note(f"line {line}")
    return error
