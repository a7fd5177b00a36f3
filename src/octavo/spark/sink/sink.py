"""The sink of `format("octavo")`: tasks stage finished batches, and the driver commits all of them or none."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from octavo.errors import ConfigError
from octavo.spark.short_errors import short_errors
from octavo.spark.sink.options import SinkOptions
from octavo.spark.sink.task import Staged, stage_rows
from octavo.storage.staging.stage import StagedPart

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from octavo.storage.staging.commit import CommitRequest, OnStep

_log = logging.getLogger("octavo.spark")

Messages = Sequence[WriterCommitMessage | None]


# Imports are local, because planning, writing and committing run in different processes.
def batch_writer(
    options: Mapping[str, str], schema: StructType, overwrite: bool, *, inserts: bool = False
) -> DataSourceArrowWriter:
    """The writer of a batch query; it can only append. `inserts` says that the directory is a table's."""
    if overwrite:
        raise ConfigError("Save mode Overwrite not allowed for Kafka, expected mode('append').")
    writer = OctavoBatchWriter(options, schema)
    writer.inserts = inserts
    return writer


def stream_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
    """The writer of a streaming query. In complete mode each micro-batch appends the whole result, as with
    Spark's Kafka sink."""
    return OctavoStreamWriter(options, schema)


class _Staging:
    """What the writers of batch and streaming queries have in common."""

    is_stream: ClassVar[bool]
    inserts = False  # into a table

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        from octavo.spark.sink.parsing import parse_options
        from octavo.spark.sink.query_name import batch_name, stream_name
        from octavo.spark.sink.schema import check_columns

        self.sink = parse_options(options)
        self.columns = check_columns(schema, self.sink.topic)
        self.writer = stream_name(self.sink) if self.is_stream else batch_name(self.sink)

    @short_errors
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return stage_rows(without_offsets(iterator) if self.inserts else iterator, self.columns, self.sink, self.writer)

    @short_errors
    def commit(self, messages: Messages, batchId: int | None = None) -> None:
        from octavo.storage.staging.commit import CommitRequest

        batch_id = self.sink.version if batchId is None else batchId
        commit(self.sink, CommitRequest(self.writer, batch_id, staged_parts(messages)))

    def abort(self, messages: Messages, batchId: int | None = None) -> None:
        self.sink.publisher.discard(self.writer)


class OctavoBatchWriter(_Staging, DataSourceArrowWriter):
    """Appends the rows of a batch query; with txnAppId and txnVersion, each version only once."""

    is_stream = False


class OctavoStreamWriter(_Staging, DataSourceStreamArrowWriter):
    """Appends each micro-batch once. Spark creates one writer to plan a micro-batch and another to commit it."""

    is_stream = True


def without_offsets(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches; raises for rows that were read from a log.

    They would go to the table that they come from: in CREATE TABLE … AS SELECT, for example.
    """
    for batch in batches:
        if batch.column("offset").null_count < batch.num_rows:
            raise ConfigError(
                "rows with offsets: Spark does not say which table they are for; name the columns, as in"
                " INSERT INTO t (key, value) SELECT key, value FROM s, instead of CREATE TABLE … AS SELECT"
            )
        yield batch


def staged_parts(messages: Messages) -> list[StagedPart]:
    """The staged files of all tasks, in task order."""
    return [part for message in messages if isinstance(message, Staged) for part in message.parts]


def commit(sink: SinkOptions, request: CommitRequest, on_step: OnStep | None = None) -> None:
    """Commit a batch; one without rows leaves no trace."""
    if request.staged:
        request = replace(request, topic_configs=sink.new_topics.configs)
        is_new = sink.publisher.publish(request, on_step)
        if not is_new and sink.app_id is not None:
            records = sum(part.facts.records for part in request.staged)
            _log.warning(
                "txnAppId %s has committed batch %s or a later one: %s skipped. A new checkpoint numbers batches"
                " from 0 again, and needs another txnAppId",
                sink.app_id,
                request.batch_id,
                "1 record is" if records == 1 else f"{records} records are",
            )
