"""What each of Spark's Python workers does once, before its first task."""

from __future__ import annotations

import gc
import sys
from functools import cache

_WORKERS_PARENT = "pyspark.daemon"


@cache
def settle() -> None:
    """Exempt the objects that are already loaded from garbage collection; later ones are collected as usual.

    PySpark runs the collector after every task, which visits all objects of all modules: 10 to 20 ms, in which 10 MB
    could be read. Outside a worker, the collector is left alone.
    """
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    if main is not None and main.name == _WORKERS_PARENT:
        gc.freeze()
