"""Which Python runs Spark's workers: on one machine, the driver's own."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_CONF = "spark.pyspark.python"


def use_this_python(spark: SparkSession) -> None:
    """Make the workers of a session on this machine run this Python, unless a setting names another one.

    Spark's default is whatever `python3` is on the PATH. If the driver was started as `venv/bin/python` and the
    environment is not activated, that is a Python without this package. On a cluster nothing changes, since this
    Python's path may not exist there.
    """
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        return  # the workers belong to a server
    context: SparkContext = spark.sparkContext
    is_chosen = "PYSPARK_PYTHON" in os.environ or context.getConf().contains(_CONF)
    if (context.master or "").startswith("local") and not is_chosen:
        context.pythonExec = sys.executable
