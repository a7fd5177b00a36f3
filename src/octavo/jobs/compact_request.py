"""A compaction as it is asked for, and what is told of each partition: the command's and that of Spark's functions."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from octavo.config import BROKER_CONFIGS, Given
from octavo.errors import ConfigError
from octavo.format.names import TopicPartition
from octavo.jobs.choose_compaction import Judged, judge
from octavo.jobs.compact import compact
from octavo.jobs.listing import check_topics, known_topics
from octavo.jobs.owner import Terms
from octavo.kernels.offset_table import KeyHash
from octavo.storage.cleaner.clean import Cleaned
from octavo.storage.cleaner.explain import Explanation
from octavo.storage.cleaner.offset_map import MapLimits
from octavo.storage.log_manager import LogManager
from octavo.system.runner import Progress, Runner, ThreadRunner


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactRequest:
    """One cleaner round on the partitions of the named topics that are due, or of all compacted ones.

    `configs` are those of topics, and log.cleaner.dedupe.buffer.size and log.cleaner.io.buffer.load.factor, which bound
    the memory for keys. With `force` the dirty ratio does not count. `now_ms` is the time to judge by, if not the
    present. A `dry_run` changes nothing and takes no lock.
    """

    topics: Sequence[str] = ()
    configs: Mapping[str, Given] = field(default_factory=dict)
    now_ms: int | None = None
    force: bool = False
    dry_run: bool = False
    key_hash: KeyHash = KeyHash.SIPHASH

    def terms(self, logdirs: Sequence[str]) -> Terms:
        """How the directories are to be opened; refused where they do not have a topic, or a config is none."""
        check_topics(logdirs, self.topics)
        of_topics, of_broker = self._split()
        explicit = dict.fromkeys(self.topics or known_topics(logdirs), of_topics) if of_topics else {}
        return Terms(
            only=self.topics or None,
            configs=of_broker,
            topic_configs=explicit,
            now_ms=self.now_ms,
            dry_run=self.dry_run,
        )

    def judged(self, logs: LogManager) -> list[Judged]:
        """The partitions that the request is about, in order, and which of them are to be cleaned."""
        limits = MapLimits.of(logs.broker_config, secrets.token_bytes(16), self.key_hash)
        return [each for each in judge(logs, limits, force=self.force) if self.topics or each.explanation.is_compacted]

    def _split(self) -> tuple[dict[str, Given], dict[str, Given]]:
        """The configs of topics, and those of the cleaner's memory."""
        of_broker = {name: value for name, value in self.configs.items() if name.startswith("log.cleaner.")}
        for name in of_broker:
            if name not in BROKER_CONFIGS:
                raise ConfigError(f"{name} is neither a topic config nor one of the cleaner, see `octavo config`")
        return {name: value for name, value in self.configs.items() if name not in of_broker}, of_broker


class CompactedPartition(NamedTuple):
    """A partition: why it was cleaned or not, and what the run did or would do."""

    name: TopicPartition
    explanation: Explanation
    cleaned: Cleaned | None
    error: Exception | None
    dry_run: bool


def size_of(judged: Sequence[Judged]) -> int:
    """The bytes that the tasks will tell their progress of."""
    candidates = [each.candidate for each in judged if each.candidate is not None]
    return sum(each.plan.size + sum(segment.size for segment in each.plan.segments) for each in candidates)


def compact_judged(
    judged: Sequence[Judged],
    logs: LogManager,
    runner: Runner,
    progress: Progress | None = None,
    *,
    dry_run: bool = False,
) -> Iterator[CompactedPartition]:
    """What became of each partition, in their order."""
    candidates = [each.candidate for each in judged if each.candidate is not None]
    # Tasks elsewhere have their own; the files of a dry run are in this process alone.
    filesystem = logs.environment.filesystem if isinstance(runner, ThreadRunner) else None
    done = compact(candidates, runner, progress, filesystem)
    for each in judged:
        compacted = next(done) if each.candidate is not None else None
        cleaned, error = (compacted.cleaned, compacted.error) if compacted is not None else (None, None)
        yield CompactedPartition(each.name, each.explanation, cleaned, error, dry_run)
