"""Log directories as Spark tables and streams: `format("octavo")`, read and written without a broker.

Public names are imported when first used, because pyspark takes long to load.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from octavo.jobs.compact import CompactRequest
    from octavo.spark.data_source import register
    from octavo.spark.jobs import compact, export, reindex, topics, upgrade, verify
    from octavo.spark.source.arrow_scan import scan, scan_stream

__all__ = [
    "CompactRequest",
    "compact",
    "export",
    "register",
    "reindex",
    "scan",
    "scan_stream",
    "topics",
    "upgrade",
    "verify",
]

_MODULES = {
    **dict.fromkeys(("compact", "export", "reindex", "topics", "upgrade", "verify"), "octavo.spark.jobs"),
    "CompactRequest": "octavo.jobs.compact",
    "register": "octavo.spark.data_source",
    **dict.fromkeys(("scan", "scan_stream"), "octavo.spark.source.arrow_scan"),
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'octavo.spark' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
