"""Consumer groups as a test sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from octavo.errors import ScanError
from octavo.format.names import TopicPartition
from octavo.jobs.describe.groups import DescribedGroups, GroupDescription, MemberDescription
from octavo.scanner.log_dirs import Place


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group: what it has committed, and who is in it."""

    name: str
    state: str  # Empty, Stable, …
    members: tuple[MemberDescription, ...]
    offsets: Mapping[TopicPartition, int]  # committed: the next offsets to read
    lag: int  # offsets between the committed ones and the logs' ends, in all partitions together


def described_groups(places: list[Place]) -> dict[str, GroupView]:
    """The groups in `__consumer_offsets`, by name."""
    try:
        found = DescribedGroups(places).groups
    except ScanError:  # no `__consumer_offsets` yet: nobody has used a group
        return {}
    return {group.group: _group(group) for group in found}


def _group(found: GroupDescription) -> GroupView:
    offsets = {committed.topic_partition: committed.offset for committed in found.offsets}
    lag = sum(committed.lag or 0 for committed in found.offsets)
    return GroupView(found.group, found.state, found.members, offsets, lag)
