"""Rebalances: members join until all are there or the time is up; then the leader assigns, and everybody syncs."""

from __future__ import annotations

from dataclasses import replace

from octavo.config import BrokerConfig
from octavo.coordinator.groups.classic.group import ClassicMember, ClassicState
from octavo.coordinator.groups.classic.transition import JOIN_TIMER, SYNC_TIMER, ClassicTransition
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode


def rebalance_or_complete(change: ClassicTransition, config: BrokerConfig) -> None:
    """Begin a rebalance; if one is already under way, end its first phase once nobody is missing."""
    if change.group.state is ClassicState.PREPARING_REBALANCE:
        complete_if_all_joined(change)
    else:
        begin(change, config)


def begin(change: ClassicTransition, config: BrokerConfig) -> None:
    """Ask all members to join again. A group that was empty waits a little for more members."""
    group = change.group
    if group.state is ClassicState.COMPLETING_REBALANCE:
        for member in group.members.values():
            unassigned = change.put(replace(member, assignment=b""))
            answer_sync(change, unassigned, {"errorCode": ErrorCode.REBALANCE_IN_PROGRESS})
    change.change(unsynced=frozenset())
    change.cancel_timer(SYNC_TIMER)
    if group.state is ClassicState.EMPTY:
        delay_ms = config.group_initial_rebalance_delay_ms
        change.set_timer(JOIN_TIMER, delay_ms)
        change.enter(ClassicState.PREPARING_REBALANCE)
        change.change(is_initial=True, remaining_ms=max(group.rebalance_timeout_ms - delay_ms, 0))
        return
    change.enter(ClassicState.PREPARING_REBALANCE)
    if change.group.has_all_joined:
        complete(change)
    else:
        change.set_timer(JOIN_TIMER, change.group.rebalance_timeout_ms)


def complete_if_all_joined(change: ClassicTransition) -> None:
    """End the first phase early if nobody is missing."""
    group = change.group
    if group.state is ClassicState.PREPARING_REBALANCE and not group.is_initial and group.has_all_joined:
        complete(change)


def end_of_wait(change: ClassicTransition, config: BrokerConfig) -> None:
    """The time to join is up. The initial wait is extended if members joined during it, up to the rebalance timeout."""
    group = change.group
    if group.state is not ClassicState.PREPARING_REBALANCE:
        return
    if group.is_initial and group.has_newcomer and group.remaining_ms:
        delay_ms = config.group_initial_rebalance_delay_ms
        change.set_timer(JOIN_TIMER, min(delay_ms, group.remaining_ms))
        change.change(has_newcomer=False, remaining_ms=max(group.remaining_ms - delay_ms, 0))
    else:
        complete(change)


def complete(change: ClassicTransition) -> None:
    """Begin the next generation without the dynamic members that did not join, and answer all JoinGroups."""
    change.cancel_timer(JOIN_TIMER)
    for member in list(change.group.members.values()):
        if member.join is None and member.instance_id is None:
            change.remove(member.member_id)
    joined = [member for member in change.group.members.values() if member.join is not None]
    if change.group.members and not joined:  # static members alone: their sessions will end, or they come back
        change.set_timer(JOIN_TIMER, change.group.rebalance_timeout_ms)
        change.change(remaining_ms=0)
        return
    group = change.group
    generation = group.generation + 1
    if not joined:
        change.enter(ClassicState.EMPTY, generation=generation, protocol_name=None, unsynced=frozenset())
        change.change(subscribed_topics=change.group.parsed_topics())
        change.write()
        return
    if group.leader is None or group.members[group.leader].join is None:
        change.change(leader=joined[0].member_id)
    change.enter(ClassicState.COMPLETING_REBALANCE, generation=generation, protocol_name=group.voted_protocol())
    change.change(subscribed_topics=change.group.parsed_topics(), unsynced=frozenset(group.members))
    for member in list(change.group.members.values()):
        answered = change.answer_join(member, change.joined_answer(member.member_id))
        change.renew_session(change.put(replace(answered, is_new=False)))
    change.set_timer(SYNC_TIMER, change.group.rebalance_timeout_ms)


def answer_sync(change: ClassicTransition, member: ClassicMember, answer: Row) -> None:
    """Answer a waiting SyncGroup; from then on heartbeats are expected again."""
    if member.sync is not None:
        change.renew_session(change.answer_sync(member, answer))
