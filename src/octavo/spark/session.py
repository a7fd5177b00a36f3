"""The Spark session that a command starts for its own tasks."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from octavo.errors import OctavoError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def session(master: str) -> Iterator[SparkSession]:
    """A session on a master, stopped at the end. Its Python is this one, unless PYSPARK_PYTHON names another."""
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise OctavoError("pyspark is not installed, expected it for --spark: pip install 'octavo[spark]'") from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("octavo").master(master)
    builder = builder.config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
    try:
        spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    except PySparkException as error:
        raise OctavoError(f"Spark does not start on {master}: {error}") from error
    try:
        yield spark
    finally:
        spark.stop()
