"""Lets Spark find `format("octavo")` by itself: it looks into every module whose name begins with `pyspark_`."""

from octavo.spark.data_source import OctavoDataSource as DefaultSource

__all__ = ["DefaultSource"]
