"""Cleans logs, in the background of a `LogManager` or as a job: keys → groups → swap → checkpoint.

A log goes through these steps. Until step 3 decides the swap, a crash leaves it unchanged; from then on, loading
finishes the swap.

1. The keys of the dirty part are read into an offset map (one task per log).
2. Each group of segments is rewritten next to the old ones (one task per group).
3. The new segments of a log replace the old ones, all or none (`swap` has the steps).
4. The cleaner checkpoint records how far the log is clean. Without it the same work would be done again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from octavo.errors import OctavoError
from octavo.storage.cleaner.clean_group import CleanedGroup, clean_group
from octavo.storage.cleaner.map_keys import GroupTask, MappedLog, ignore_bytes, map_keys
from octavo.storage.cleaner.offset_map import MapLimits
from octavo.storage.cleaner.plan import Candidate, CleanPlan
from octavo.storage.rewriting.cleaned_segments import remove_cleaned, swap_in
from octavo.storage.rewriting.source import OnBytes
from octavo.system.filesystem import FileSystem
from octavo.system.runner import Progress, Runner, TaskOutcome


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The result of cleaning a log."""

    end_offset: int  # the log is clean up to here
    is_full: bool  # not all keys fitted into the map: the next cleaning continues at `end_offset`
    keys: int
    groups: tuple[CleanedGroup, ...]


@dataclass(frozen=True, slots=True)
class Cleaner:
    """How logs are cleaned: where tasks run, the resources they may use, and the time they judge by.

    `on_bytes` can slow down or abort tasks that run in this process.
    """

    runner: Runner
    filesystem: FileSystem
    limits: MapLimits
    now_ms: int
    on_bytes: OnBytes = ignore_bytes
    progress: Progress | None = None

    def clean(self, candidates: Sequence[Candidate]) -> Iterator[TaskOutcome[Candidate, Cleaned]]:
        """Clean logs, and yield the outcome of each, in order. A log that fails before its swap stays unchanged.

        Logs are cleaned in waves whose maps together fit into one map's memory, assuming that a map is as large as the
        bytes to clean.
        """
        wave: list[Candidate] = []
        size = 0
        for candidate in candidates:
            if size + candidate.cleanable.cleanable_bytes > self.limits.memory_bytes:
                yield from self._clean_wave(wave)
                wave, size = [], 0
            wave.append(candidate)
            size += candidate.cleanable.cleanable_bytes
        yield from self._clean_wave(wave)

    def _clean_wave(self, wave: Sequence[Candidate]) -> Iterator[TaskOutcome[Candidate, Cleaned]]:
        is_here = self.runner.shares_memory
        filesystem = self.filesystem if is_here else None
        plans = [candidate.plan(self.limits, self.now_ms, spills=not is_here) for candidate in wave]
        try:
            read = partial(map_keys, filesystem=filesystem, on_bytes=self.on_bytes)
            mapped = list(self.runner.run(read, plans, self.progress))
            tasks = [task for outcome in mapped if outcome.result is not None for task in outcome.result.groups]
            try:
                write = partial(clean_group, filesystem=filesystem, on_bytes=self.on_bytes)
                written = iter(list(self.runner.run(write, tasks, self.progress)))
            except BaseException:
                for task in tasks:
                    remove_cleaned(self.filesystem, task.plan.folder, [task.base_offset])
                raise
            for candidate, outcome in zip(wave, mapped, strict=True):
                yield self._commit(candidate, outcome, written)
        finally:
            for plan in plans:
                if plan.spill_to is not None:
                    plan.spill_to.unlink(missing_ok=True)

    def _commit(
        self,
        candidate: Candidate,
        mapped: TaskOutcome[CleanPlan, MappedLog],
        written: Iterator[TaskOutcome[GroupTask, CleanedGroup]],
    ) -> TaskOutcome[Candidate, Cleaned]:
        """Swap in a log's new segments and write its checkpoint; if a group failed, remove the new segments of the
        others.

        Once the swap has begun nothing is removed: the `.cleaned` files show loading how far the swap got.
        """
        if mapped.result is None:
            return TaskOutcome(candidate, error=mapped.error)
        plan, end_offset = mapped.task, mapped.result.end_offset
        outcomes = [next(written) for _ in mapped.result.groups]
        groups = tuple(outcome.result for outcome in outcomes if outcome.result is not None)
        base_offsets = [group.base_offset for group in groups]
        error = next((outcome.error for outcome in outcomes if outcome.error is not None), None)
        if error is not None:
            remove_cleaned(self.filesystem, plan.folder, base_offsets)
            return TaskOutcome(candidate, error=error)
        try:
            old = [segment for group in groups for segment in group.segments]
            swap_in(candidate.log, old, base_offsets, plan.config)
            candidate.root.checkpoints.write_cleaner_offset(candidate.topic_partition, end_offset)
        except OctavoError as failure:
            return TaskOutcome(candidate, error=failure)
        is_full = end_offset < plan.first_uncleanable_offset
        return TaskOutcome(candidate, Cleaned(end_offset, is_full, mapped.result.keys, groups))
