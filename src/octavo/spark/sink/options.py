"""The options of the sink as values, which tasks get; `sink_parsing` makes them of what Spark hands over."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.format.batches.batch_run import BatchSettings
from octavo.storage.staging.destinations import NewTopics

if TYPE_CHECKING:
    from octavo.storage.publish import Publisher


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """All options, checked. Picklable: tasks get them."""

    roots: tuple[Path, ...]
    topic: str | None
    batches: BatchSettings
    ignore_keys: bool
    new_topics: NewTopics
    lock_timeout_seconds: float
    app_id: str | None
    version: int | None
    checkpoint: str | None

    @property
    def publisher(self) -> Publisher:
        from octavo.storage.publish import Publisher  # which opens directories: no task needs it

        return Publisher(roots=self.roots, lock_timeout_seconds=self.lock_timeout_seconds)
