"""Moves a member from the partitions it has to its target.

First it gives up what is not in its target; until it has, it stays at its epoch. Then it is moved to the epoch of the
target and gets what nobody else has; the rest follows when others have given it up. So no partition has two owners.
"""

from __future__ import annotations

from dataclasses import replace

from octavo.coordinator.errors import RequestError
from octavo.coordinator.groups.consumer import records
from octavo.coordinator.groups.consumer.group import Epochs, Member, MemberState
from octavo.coordinator.groups.consumer.topics import TopicIdPartition
from octavo.coordinator.groups.consumer.transition import REBALANCE, Transition
from octavo.format.protocol.error_codes import ErrorCode

Owned = frozenset[TopicIdPartition] | None  # what a member says it has; None, if it does not say, may be anything


def reconcile(change: Transition, member_id: str, owned: Owned, *, is_subscription_changed: bool) -> Member:
    """Move a member as far towards its target as possible; returns the member as it is now."""
    group = change.group
    member = group.members[member_id]
    if not is_subscription_changed and member.is_reconciled_to(group.assignment_epoch):
        return member
    updated = _next(change, member, owned, is_subscription_changed)
    if updated != member:
        change.write(records.current_write(group.group_id, updated))
        if updated.classic is None:
            if updated.state is MemberState.UNREVOKED_PARTITIONS:
                change.set_timer((REBALANCE, member_id), updated.rebalance_timeout_ms)
            else:
                change.cancel_timer((REBALANCE, member_id))
    return updated


def _next(change: Transition, member: Member, owned: Owned, is_subscription_changed: bool) -> Member:
    match member.state:
        case MemberState.STABLE:
            is_waiting = member.member_epoch == change.group.assignment_epoch
        case MemberState.UNREVOKED_PARTITIONS:
            is_waiting = _may_have(owned, member.revoking)
        case MemberState.UNRELEASED_PARTITIONS:
            is_waiting = False
        case MemberState.UNKNOWN:
            if owned is None or owned:
                raise RequestError(
                    ErrorCode.FENCED_MEMBER_EPOCH,
                    "The consumer group member is in a unknown state. The member must abandon all its partitions "
                    "and rejoin.",
                )
            is_waiting = False
    if not is_waiting:
        return _towards_target(change, member, owned)
    return _within_subscription(change, member, owned) if is_subscription_changed else member


def _within_subscription(change: Transition, member: Member, owned: Owned) -> Member:
    """Take away the partitions of topics that the member no longer wants, and nothing else."""
    wanted = change.view.topics.ids(change.group.topics_of(member))
    kept = {partition: epoch for partition, epoch in member.assigned.items() if partition.topic_id in wanted}
    if len(kept) == len(member.assigned):
        return member
    revoking = {**member.revoking, **{one: epoch for one, epoch in member.assigned.items() if one not in kept}}
    if _may_have(owned, revoking):
        return _moved(member, member.member_epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoking)
    return _moved(member, member.member_epoch, member.state, kept, member.revoking)


def _towards_target(change: Transition, member: Member, owned: Owned) -> Member:
    group = change.group
    epoch = group.assignment_epoch
    wanted = change.view.topics.ids(group.topics_of(member))
    target = {partition for partition in group.targets.get(member.member_id, ()) if partition.topic_id in wanted}
    kept = {partition: since for partition, since in member.assigned.items() if partition in target}
    revoking = {partition: since for partition, since in member.assigned.items() if partition not in target}
    if revoking and _may_have(owned, revoking):
        is_known = member.state is not MemberState.UNKNOWN
        at = member.member_epoch if is_known else epoch
        return _moved(member, at, MemberState.UNREVOKED_PARTITIONS, kept, revoking)
    # What the member itself had to give up is free, even if it still counts as owned.
    taken = group.owned - member.revoking.keys()
    missing = target - kept.keys()
    free = missing - taken
    state = MemberState.STABLE if free == missing else MemberState.UNRELEASED_PARTITIONS
    return _moved(member, epoch, state, {**kept, **dict.fromkeys(free, epoch)}, {})


def _may_have(owned: Owned, partitions: Epochs) -> bool:
    return owned is None or not owned.isdisjoint(partitions)


def _moved(member: Member, epoch: int, state: MemberState, assigned: Epochs, revoking: Epochs) -> Member:
    return replace(
        member,
        member_epoch=epoch,
        previous_epoch=member.member_epoch,
        state=state,
        assigned=assigned,
        revoking=revoking,
    )
