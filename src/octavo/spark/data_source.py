"""`format("octavo")`: how Spark reads and writes log directories.

Spark creates the data source in several Python processes (for the schema, for the plan, in a query's own runner), so it
holds nothing but the options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

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

    @classmethod
    def name(cls) -> str:
        return "octavo"

    def schema(self) -> StructType:
        from octavo.spark.query.source_options import SourceOptions

        return SourceOptions.of(self.options).schema()

    def reader(self, schema: StructType) -> DataSourceReader:
        from octavo.spark.source.batch_reader import batch_reader

        return batch_reader(self.options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from octavo.spark.source.stream_reader import stream_reader

        return stream_reader(self.options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from octavo.spark.sink.sink import batch_writer

        return batch_writer(self.options, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        from octavo.spark.sink.sink import stream_writer

        return stream_writer(self.options, schema, overwrite)


def register(spark: SparkSession) -> None:
    """Register `format("octavo")` with a session, if `pyspark_octavo` is not on a path that Spark searches."""
    spark.dataSource.register(OctavoDataSource)
