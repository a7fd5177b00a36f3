"""Which partitions a compaction takes, and what is to be said of each."""

from __future__ import annotations

from typing import NamedTuple

from octavo.format.names import TopicPartition
from octavo.jobs.compact import Candidate
from octavo.storage.cleaner.explain import Explanation, explain, open_transaction
from octavo.storage.cleaner.offset_map import MapLimits
from octavo.storage.cleaner.plan import dirty_log, plan_cleaning
from octavo.storage.cleaner.range import cleanable_range
from octavo.storage.log_manager import LogManager


class Judged(NamedTuple):
    """A partition, what is to be said of it, and its run if there is to be one."""

    name: TopicPartition
    explanation: Explanation
    candidate: Candidate | None


def judge(logs: LogManager, limits: MapLimits, *, force: bool) -> list[Judged]:
    """All open partitions, in order; with `force` the dirty ratio of compacted ones does not count."""
    return [_judge(name, logs, limits, force) for name in sorted(logs.logs)]


def _judge(name: TopicPartition, logs: LogManager, limits: MapLimits, force: bool) -> Judged:
    log = logs.log(*name)
    root = next(root for root in logs.roots if root.path == log.folder.parent)
    now_ms = logs.environment.clock.time_ms()
    facts = dirty_log(log, root.checkpoints.cleaner_offsets().get(name))
    cleanable = cleanable_range(facts, log.config, now_ms)
    explanation = explain(facts, cleanable, log.config, open_transaction(log, now_ms), now_ms)
    has_something = cleanable.first_uncleanable_offset > log.segments.first.base_offset
    if not explanation.is_eligible and not (force and explanation.is_compacted and has_something):
        return Judged(name, explanation, None)
    return Judged(name, explanation, Candidate(name, log, root, plan_cleaning(log, cleanable, limits, now_ms)))
