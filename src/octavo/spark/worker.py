"""What a Python worker of Spark does once, before its first task."""

from __future__ import annotations

import gc
import sys
from functools import cache

_WORKERS_PARENT = "pyspark.daemon"


@cache
def settle() -> None:
    """Take what is loaded by now out of the garbage collector's sight; what comes later is collected as ever.

    PySpark collects after every task, and with that looks at all objects of all modules: 10 to 20 ms, as long as some
    10 MB take to be read. Elsewhere than in a worker the collector is not ours to settle.
    """
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    if main is not None and main.name == _WORKERS_PARENT:
        gc.freeze()
