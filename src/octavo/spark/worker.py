"""Spark's Python workers: which Python runs them, and what each does once before its first task."""

from __future__ import annotations

import gc
import os
import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_CONF = "spark.pyspark.python"
_WORKERS_PARENT = "pyspark.daemon"


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


@cache
def settle() -> None:
    """Exempt the objects that are already loaded from garbage collection; later ones are collected as usual.

    PySpark runs the collector after every task, which visits all objects of all modules: 10 to 20 ms, in which 10 MB
    could be read. Outside a worker, the collector is left alone.
    """
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    if main is not None and main.name == _WORKERS_PARENT:
        gc.freeze()
