"""`format("octavo")`: how Spark reads and writes log directories.

Spark creates the data source in several Python processes (for the schema, for the plan, in a query's own runner), so it
holds nothing but the options.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Literal

from pyspark.sql.datasource import DataSource

from octavo.spark.short_errors import short_errors
from octavo.spark.version import check_version

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType


class OctavoDataSource(DataSource):
    """Kafka's log directories, with the schema and the options of Spark's Kafka source and sink."""

    @short_errors
    def __init__(self, options: MutableMapping[str, str]) -> None:
        check_version()
        super().__init__(options)

    @classmethod
    def name(cls) -> str:
        return "octavo"

    @short_errors
    def schema(self) -> StructType:
        from octavo.spark.query.source_options import SourceOptions
        from octavo.spark.query.table import table_schema

        return table_schema(SourceOptions.of(self.options).schema(), self.options)

    @short_errors
    def reader(self, schema: StructType) -> DataSourceReader:
        from octavo.spark.source.batch_reader import batch_reader

        return batch_reader(self._options(schema, "source"), schema)

    @short_errors
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from octavo.spark.source.stream_reader import stream_reader

        return stream_reader(self._options(schema, "source"), schema)

    @short_errors
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from octavo.spark.sink.sink import batch_writer

        return batch_writer(self._options(schema, "sink"), schema, overwrite, inserts=self._inserts(schema))

    @short_errors
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        from octavo.spark.sink.sink import stream_writer

        return stream_writer(self._options(schema, "sink"), schema, overwrite)

    def _options(self, schema: StructType, side: Literal["source", "sink"]) -> dict[str, str]:
        """The query's own options, and those of its table, except what only the other side has."""
        from octavo.spark.query.table import options_of_table

        of_table = options_of_table(schema)
        if of_table and side == "sink" and not self._inserts(schema):
            of_table = {}
        if of_table:
            from octavo.spark.query.options import SOURCE_OPTIONS, without_others
            from octavo.spark.sink.options import SINK_OPTIONS  # takes long to load

            sides = (SOURCE_OPTIONS, SINK_OPTIONS) if side == "source" else (SINK_OPTIONS, SOURCE_OPTIONS)
            of_table = without_others(of_table, *sides)
        return {**of_table, **self.options}

    def _inserts(self, schema: StructType) -> bool:
        from octavo.spark.query.table import may_be_insert

        return may_be_insert(schema, self.options)


def register(spark: SparkSession) -> None:
    """Make `format("octavo")` known to a session, even where Spark does not find `pyspark_octavo` by itself.

    From then on `octavo.spark.skipped` knows what the session's queries skip (not over Spark Connect). On one machine
    (`local[…]`), workers run this Python, unless PYSPARK_PYTHON or spark.pyspark.python names another.
    """
    from octavo.spark.source.skipped import collect_skipped
    from octavo.spark.worker import use_this_python

    use_this_python(spark)
    collect_skipped(spark)
    spark.dataSource.register(OctavoDataSource)
