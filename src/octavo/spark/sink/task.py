"""A task of the sink: turns rows into finished batches in its own staged files."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage

from octavo.format.batches.batch_run import BatchEncoder, BatchSettings
from octavo.spark.sink.options import SinkOptions
from octavo.spark.sink.routing import Router
from octavo.spark.worker import settle
from octavo.storage.log.validation_settings import ValidationSettings
from octavo.storage.staging.destinations import Destination, Destinations
from octavo.storage.staging.stage import Stage, StagedPart
from octavo.system.clock import SystemClock
from octavo.system.filesystem import LocalFileSystem

# Rows are collected until each partition has enough for a few batches, so that few batches are cut short.
_LEAST_GATHERED_BYTES = 1 << 20
_MOST_GATHERED_BYTES = 32 << 20
_BATCHES_PER_PARTITION = 8


@dataclass(frozen=True, slots=True)
class Staged(WriterCommitMessage):
    """What a task sends to the driver: the files it staged."""

    parts: tuple[StagedPart, ...]


def stage_rows(
    batches: Iterator[pa.RecordBatch], columns: tuple[str, ...], options: SinkOptions, writer: str
) -> Staged:
    """Stage all rows of one attempt at a task; an attempt that fails removes what it staged."""
    settle()
    filesystem, clock = LocalFileSystem(), SystemClock()
    stage = Stage(filesystem, writer, uuid.uuid4().hex)
    destinations = Destinations(filesystem, options.roots, options.new_topics)
    router = Router(destinations, options.topic, options.batches.batch_size, ignore_keys=options.ignore_keys)
    encoder = BatchEncoder()
    try:
        for batch in _gathered(batches, columns, router, options.batches.batch_size):
            for destination, records, (partitions, order, ends) in router.route(batch, clock.time_ms()):
                runs = encoder.encode_runs(records, order, ends, _settings(destination, options.batches))
                for partition, run in zip(partitions, runs, strict=True):
                    stage.append(destination.place(partition), *run)
        return Staged(tuple(stage.finish()))
    except BaseException:
        stage.abandon()
        raise


def _gathered(
    batches: Iterator[pa.RecordBatch], columns: tuple[str, ...], router: Router, batch_size: int
) -> Iterator[pa.RecordBatch]:
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch.select(columns))
            size += batch.nbytes
        enough = max(_LEAST_GATHERED_BYTES, _BATCHES_PER_PARTITION * batch_size * router.partition_count)
        if size >= min(enough, _MOST_GATHERED_BYTES):
            yield _joined(waiting)
            waiting, size = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _settings(destination: Destination, given: BatchSettings) -> BatchSettings:
    """The topic's codec takes precedence over the producer's; otherwise the commit would have to compress all batches
    again."""
    topic = ValidationSettings.of(destination.config)
    return given if topic.codec is None else given._replace(codec=topic.codec, level=topic.level)
