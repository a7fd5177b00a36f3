"""The format by hand, for a session that does not find it by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Make `format("octavo")` known to a session: where `pyspark_octavo` is not on a path that Spark searches."""
    from octavo.spark.data_source import OctavoDataSource

    spark.dataSource.register(OctavoDataSource)
