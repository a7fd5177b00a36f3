"""The directory under attack: its topics, its configs, and how it is opened."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import octavo
from octavo.client.log_dir import LogDir
from octavo.config import Given
from octavo.storage.environment import Environment

# Small segments and indexes, so that a second of work rolls, cleans and deletes many of them.
_SMALL: dict[str, Given] = {"segment.bytes": 6000, "index.interval.bytes": 200, "segment.index.bytes": 2048}
_KEPT: dict[str, Given] = {**_SMALL, "retention.ms": -1}
_COMPACTED: dict[str, Given] = {
    **_SMALL,
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": 0.01,
    "delete.retention.ms": 0,
}
TOPICS: dict[str, tuple[int, dict[str, Given]]] = {
    "plain": (3, _KEPT),
    "table": (2, _KEPT),
    "left": (2, _KEPT),  # transactions write to this topic and to "right"
    "right": (1, {**_KEPT, "segment.bytes": 4000}),
    "compacted": (2, _COMPACTED),
    "retained": (1, {**_SMALL, "retention.bytes": 20_000}),
}
# With these, what a broker does occasionally happens all the time.
CONFIGS: dict[str, Given] = {
    "log.cleaner.backoff.ms": 50,
    "log.retention.check.interval.ms": 100,
    "log.initial.task.delay.ms": 50,
    "log.flush.offset.checkpoint.interval.ms": 100,
    "log.flush.start.offset.checkpoint.interval.ms": 150,
    "replica.high.watermark.checkpoint.interval.ms": 100,
    "log.segment.delete.delay.ms": 200,
    "log.index.size.max.bytes": 2048,
    "log.cleaner.dedupe.buffer.size": 2 << 20,
    "log.cleaner.io.buffer.size": 64 << 10,
    "num.recovery.threads.per.data.dir": 1,
    "offsets.topic.num.partitions": 2,
    "offsets.topic.segment.bytes": 6000,
    "transaction.state.log.num.partitions": 2,
    "transaction.state.log.segment.bytes": 6000,
}


def opened(root: Path, *, environment: Environment | None = None) -> LogDir:
    """Open the directory with a broker's upkeep: retention, cleaning and deletions run."""
    return octavo.LogDir(root, configs=CONFIGS, environment=environment, upkeep=True)


def reopened(root: Path) -> LogDir:
    """Open the directory without background work: only recovery changes anything."""
    return octavo.LogDir(root, configs=CONFIGS, background=False)


def make_topics(logs: LogDir) -> None:
    """Create the topics that do not exist."""
    for topic, (partitions, configs) in TOPICS.items():
        if topic not in logs.topics:
            logs.create_topic(topic, partitions, configs)


class Complaints(logging.Handler):
    """Passes on the errors that the library logs; otherwise an error in the background would go unnoticed."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._tell = tell
        logging.getLogger("octavo").addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self._tell(logging.Formatter().format(record))
