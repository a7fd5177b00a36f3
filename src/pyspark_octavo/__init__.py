"""Makes `format("octavo")` work without `register`: Spark looks for a source in every module named `pyspark_…`."""

from octavo.spark.data_source import OctavoDataSource as DefaultSource

__all__ = ["DefaultSource"]
