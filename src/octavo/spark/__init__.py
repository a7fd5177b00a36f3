"""Log directories as Spark tables and streams: `format("octavo")`, read and written without a broker.

Public names are imported when first used, because pyspark takes long to load.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from octavo.spark.version import check_version

if TYPE_CHECKING:
    from octavo.jobs.compact import CompactedPartition
    from octavo.jobs.count import PartitionCount
    from octavo.jobs.export import ExportResult
    from octavo.jobs.reindex import ReindexResult
    from octavo.jobs.tally import Tally
    from octavo.jobs.upgrade import Upgraded
    from octavo.jobs.verify.finding import Finding, FindingKind, Severity
    from octavo.jobs.verify.job import VerifySummary
    from octavo.spark.data_source import register
    from octavo.spark.jobs import TopicsReport, VerifyReport, compact, export, reindex, topics, upgrade, verify
    from octavo.spark.source.arrow_scan import scan, scan_stream
    from octavo.spark.source.skipped import skipped
    from octavo.storage.cleaner.clean import Cleaned
    from octavo.storage.cleaner.explain import Explanation
    from octavo.storage.rewriting.rewrite import Rewritten

__all__ = [
    "Cleaned",
    "CompactedPartition",
    "Explanation",
    "ExportResult",
    "Finding",
    "FindingKind",
    "PartitionCount",
    "ReindexResult",
    "Rewritten",
    "Severity",
    "Tally",
    "TopicsReport",
    "Upgraded",
    "VerifyReport",
    "VerifySummary",
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

# The jobs and what they return.
_JOBS = {
    **dict.fromkeys(("compact", "export", "reindex", "topics", "upgrade", "verify"), "octavo.spark.jobs"),
    **dict.fromkeys(("TopicsReport", "VerifyReport"), "octavo.spark.jobs"),
    "Cleaned": "octavo.storage.cleaner.clean",
    "CompactedPartition": "octavo.jobs.compact",
    "Explanation": "octavo.storage.cleaner.explain",
    "ExportResult": "octavo.jobs.export",
    **dict.fromkeys(("Finding", "FindingKind", "Severity"), "octavo.jobs.verify.finding"),
    "PartitionCount": "octavo.jobs.count",
    "ReindexResult": "octavo.jobs.reindex",
    "Rewritten": "octavo.storage.rewriting.rewrite",
    "Tally": "octavo.jobs.tally",
    "Upgraded": "octavo.jobs.upgrade",
    "VerifySummary": "octavo.jobs.verify.job",
}
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
