"""Which PySpark the source and the sink need. The jobs are plain Spark tasks and run on older ones too."""

from __future__ import annotations

import re

from octavo.errors import OctavoError

LEAST = (4, 2)  # the first with limits and Trigger.AvailableNow for Python sources


def check_version() -> None:
    """Refuse a PySpark that is too old, before it fails somewhere inside."""
    from pyspark import __version__

    numbers = re.match(r"(\d+)\.(\d+)", __version__)
    if numbers is not None and (int(numbers[1]), int(numbers[2])) < LEAST:
        least = ".".join(map(str, LEAST))
        raise OctavoError(f"octavo's source and sink need PySpark {least} or later, found {__version__}")
