"""Log directories as Spark tables and streams: `format("octavo")`, read and written without a broker.

Public names are imported when first used, because pyspark takes long to load.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from octavo.spark.version import check_version

if TYPE_CHECKING:
    from octavo.spark.data_source import register
    from octavo.spark.jobs import compact, export, reindex, topics, upgrade, verify
    from octavo.spark.source.arrow_scan import scan, scan_stream
    from octavo.spark.source.skipped import skipped

__all__ = [
    "compact",
    "export",
    "register",
    "reindex",
    "scan",
    "scan_stream",
    "skipped",
    "topics",
    "upgrade",
    "verify",
]

_JOBS = dict.fromkeys(("compact", "export", "reindex", "topics", "upgrade", "verify"), "octavo.spark.jobs")
_OF_THE_SOURCE = {
    "register": "octavo.spark.data_source",
    **dict.fromkeys(("scan", "scan_stream"), "octavo.spark.source.arrow_scan"),
    "skipped": "octavo.spark.source.skipped",
}


def __getattr__(name: str) -> object:
    module = _JOBS.get(name) or _OF_THE_SOURCE.get(name)
    if module is None:
        raise AttributeError(f"module 'octavo.spark' has no attribute {name!r}")
    if name in _OF_THE_SOURCE:
        check_version()
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
