"""Cleans one log on its own, without a `LogManager`."""

from __future__ import annotations

from octavo.format.names import PartitionFolder
from octavo.storage.cleaner.clean import Cleaned, Cleaner
from octavo.storage.cleaner.map_keys import ignore_bytes
from octavo.storage.cleaner.offset_map import MapLimits
from octavo.storage.cleaner.plan import Candidate
from octavo.storage.directory.log_root import LogRoot, Selection
from octavo.storage.partition_log import PartitionLog
from octavo.storage.rewriting.source import OnBytes
from octavo.system.filesystem import LocalFileSystem
from octavo.system.runner import InlineRunner


def candidate(log: PartitionLog, checkpoint: int | None, now_ms: int) -> Candidate:
    root = LogRoot(log.folder.parent, LocalFileSystem(), Selection())
    folder = PartitionFolder.parse(log.folder.name)
    return Candidate.of(folder.topic_partition, log, root, checkpoint, now_ms)


def clean(found: Candidate, limits: MapLimits, now_ms: int, on_bytes: OnBytes = ignore_bytes) -> Cleaned:
    cleaner = Cleaner(InlineRunner(), LocalFileSystem(), limits, now_ms, on_bytes)
    (outcome,) = cleaner.clean([found])
    return outcome.get()
