"""A log directory with the data sets: the same bytes as in the cache folder, with indexes."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.data import FOLDER, DataSet
from octavo.format.names import FileKind, SegmentFile
from octavo.storage.segment.build_index import IndexLimits, build_indexes
from octavo.system.filesystem import LocalFileSystem

# Kafka's defaults.
_LIMITS = IndexLimits(4096, 10 << 20)


def log_directory(scale: float, *sets: DataSet) -> Path:
    """A directory with one topic per data set, each with one partition and one segment."""
    root = FOLDER / f"logs-{scale:g}"
    for data in sets:
        folder = root / f"{data.name}-0"
        folder.mkdir(parents=True, exist_ok=True)
        put_segment(folder, data.path(scale))
    return root


def put_segment(folder: Path, content: Path) -> None:
    """Make the content the folder's only segment: a hard link to the file, and its indexes."""
    log = folder / SegmentFile(0, FileKind.LOG).name
    if log.exists() and log.stat().st_ino == content.stat().st_ino:
        return
    log.unlink(missing_ok=True)
    os.link(content, log)
    built = build_indexes(LocalFileSystem(), log, 0, _LIMITS)
    log.with_suffix(".index").write_bytes(built.offset_index)
    log.with_suffix(".timeindex").write_bytes(built.time_index)
