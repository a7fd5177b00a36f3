"""A cleaning run over one log: plan → keys → groups → commit.

`plan` takes what counts of a log into values, `tasks` reads the dirty part, `clean_group` writes groups of segments
anew, `commit` puts them into the place of the old ones. What goes from step to step is picklable, so the two in the
middle can run on threads or on other machines with the same bytes as here, one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from octavo.storage.cleaner.clean_group import CleanedGroup, clean_group
from octavo.storage.cleaner.plan import CleanPlan
from octavo.storage.cleaner.tasks import MappedLog, ignore_bytes, map_keys
from octavo.storage.partition_log import PartitionLog
from octavo.storage.rewriting.cleaned_segments import remove_cleaned, swap_in
from octavo.storage.rewriting.source import OnBytes


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What a run did. The caller notes `end_offset` in cleaner-offset-checkpoint: up to there the log is clean."""

    end_offset: int
    is_full: bool  # not all keys fitted into the map: another run goes on from there
    keys: int
    groups: tuple[CleanedGroup, ...]

    @classmethod
    def of(cls, mapped: MappedLog, groups: Sequence[CleanedGroup]) -> Cleaned:
        return cls(mapped.end_offset, mapped.is_full, mapped.keys, tuple(groups))


def clean(log: PartitionLog, plan: CleanPlan, on_bytes: OnBytes = ignore_bytes) -> Cleaned:
    """Run a plan here and now. `on_bytes` is told of each chunk; what it raises ends the run without a change."""
    filesystem, done = log.state.environment.filesystem, list[CleanedGroup]()
    try:
        mapped = map_keys(plan, filesystem, on_bytes)
        done.extend(clean_group(task, filesystem, on_bytes) for task in mapped.groups)
    except BaseException:
        remove_cleaned(filesystem, plan.folder, (group.base_offset for group in done))
        raise
    commit(log, plan, done)
    return Cleaned.of(mapped, done)


def commit(log: PartitionLog, plan: CleanPlan, groups: Sequence[CleanedGroup]) -> None:
    """Put the new segments into the place of the old ones, all of the log's or none (the steps are `Swap`'s).

    Under the log's lock. Where the old segments are not there any more, the new ones are removed.
    """
    old = [source for group in groups for source in group.segments]
    swap_in(log, old, [group.base_offset for group in groups], plan.config)
