"""Compaction on request, by the command or through Spark: what is cleaned, and why the rest is left alone."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from octavo.config import BROKER_CONFIGS, Given
from octavo.format.names import TopicPartition
from octavo.jobs.directories import check_topics, known_topics
from octavo.jobs.owner import Ownership
from octavo.kernels.offset_table import KeyHash
from octavo.storage.cleaner.clean import Cleaned, Cleaner
from octavo.storage.cleaner.explain import Explanation, explain, open_transaction
from octavo.storage.cleaner.offset_map import MapLimits
from octavo.storage.cleaner.plan import Candidate
from octavo.storage.log_manager import LogManager
from octavo.system.runner import Progress, Runner

# The broker's own: not those that are synonyms of topic configs, such as log.cleaner.min.cleanable.ratio.
CLEANER_CONFIGS = frozenset(name for name in BROKER_CONFIGS if name.startswith("log.cleaner."))


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactRequest:
    """One round of the cleaner over the partitions that are due: those of the named topics or, without names, of all
    compacted topics.

    `configs` may hold topic configs and CLEANER_CONFIGS; of the latter, dedupe.buffer.size, io.buffer.load.factor and
    threads decide how many keys fit in memory. With `force`, the dirty ratio does not matter.
    With `roll`, active segments are closed first, so that their records can be cleaned too. `now_ms` replaces the
    clock. A `dry_run` changes nothing and takes no lock.
    """

    topics: Sequence[str] = ()
    configs: Mapping[str, Given] = field(default_factory=dict)
    now_ms: int | None = None
    force: bool = False
    roll: bool = False
    dry_run: bool = False
    key_hash: KeyHash = KeyHash.SIPHASH

    def ownership(self, logdirs: Sequence[str]) -> Ownership:
        """How to open the directories; raises for a topic that they do not have.

        Configs are checked when the directories are opened.
        """
        check_topics(logdirs, self.topics)
        of_broker = {name: value for name, value in self.configs.items() if name in CLEANER_CONFIGS}
        of_topics = {name: value for name, value in self.configs.items() if name not in of_broker}
        explicit = dict.fromkeys(self.topics or known_topics(logdirs), of_topics) if of_topics else {}
        return Ownership(
            only=self.topics or None,
            configs=of_broker,
            topic_configs=explicit,
            now_ms=self.now_ms,
            dry_run=self.dry_run,
        )


class CompactedPartition(NamedTuple):
    """Why a partition was cleaned or not, and what the cleaning did, or would do in a dry run."""

    topic_partition: TopicPartition
    explanation: Explanation
    cleaned: Cleaned | None
    error: Exception | None
    dry_run: bool


class Compaction:
    """A request on open directories. The constructor rolls segments if the request says so, and decides what is due;
    `rows` cleans it."""

    def __init__(self, request: CompactRequest, logs: LogManager) -> None:
        self._request = request
        self._filesystem = logs.environment.filesystem
        self._now_ms = now_ms = logs.environment.clock.time_ms()
        self._limits = MapLimits.of(logs.broker_config, secrets.token_bytes(16), request.key_hash)
        if request.roll:
            for topic in logs.topics:
                if "compact" in logs.config(topic).cleanup_policy:
                    logs.roll(topic)
        self._explained: list[tuple[Candidate, Explanation]] = []
        self._due: list[Candidate] = []
        roots = {root.path: (root, root.checkpoints.cleaner_offsets()) for root in logs.roots if root.is_live}
        for topic_partition in sorted(logs.logs):
            log = logs.log(*topic_partition)
            root, checkpoints = roots[log.folder.parent]
            candidate = Candidate.of(topic_partition, log, root, checkpoints.get(topic_partition), now_ms)
            opened = open_transaction(log, now_ms)
            why = explain(candidate.dirty, candidate.cleanable, log.config, opened, now_ms)
            if request.topics or why.is_compacted:
                self._explained.append((candidate, why))
            has_something = candidate.cleanable.first_uncleanable_offset > log.segments.first.base_offset
            if why.is_eligible or (request.force and why.is_compacted and has_something):
                self._due.append(candidate)

    @property
    def size(self) -> int:
        """The number of bytes to read, the total for the progress that `rows` reports."""
        return sum(candidate.size for candidate in self._due)

    def rows(self, runner: Runner, progress: Progress | None = None) -> Iterator[CompactedPartition]:
        """Clean what is due; yields every partition that the request covers, in order."""
        cleaner = Cleaner(runner, self._filesystem, self._limits, self._now_ms, progress=progress)
        outcomes, due = cleaner.clean(self._due), {candidate.topic_partition for candidate in self._due}
        for candidate, explanation in self._explained:
            outcome = next(outcomes) if candidate.topic_partition in due else None
            cleaned, error = (None, None) if outcome is None else (outcome.result, outcome.error)
            yield CompactedPartition(candidate.topic_partition, explanation, cleaned, error, self._request.dry_run)
