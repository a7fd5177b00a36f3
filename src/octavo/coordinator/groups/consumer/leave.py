"""Members that leave, and members that did not report in time."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from octavo.coordinator.effects import Effect
from octavo.coordinator.errors import RequestError
from octavo.coordinator.groups.consumer import records
from octavo.coordinator.groups.consumer.group import AWAY, ConsumerGroup, ConsumerOutcome, Member, MemberState
from octavo.coordinator.groups.consumer.request import Heartbeat
from octavo.coordinator.groups.consumer.transition import REBALANCE, Transition, View, member_timers
from octavo.format.protocol.error_codes import ErrorCode


def leave(group: ConsumerGroup | None, request: Heartbeat, view: View) -> ConsumerOutcome:
    """Remove a member. A static one that will come back keeps its partitions until its session ends."""
    body = request.body
    if group is None:
        raise RequestError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {body['groupId']} not found.")
    change, instance_id = Transition(group, view), body["instanceId"]
    member = group.member(body["memberId"], instance_id)
    if member.is_local is not request.is_local:
        raise RequestError(ErrorCode.UNKNOWN_MEMBER_ID, f"Member id {member.member_id} belongs to another client.")
    if instance_id is not None and request.epoch == AWAY:
        # Its successor gets another member id, and counts as the owner of the partitions from the beginning.
        assigned = dict.fromkeys(member.assigned, 0)
        away = replace(member, member_epoch=AWAY, assigned=assigned, revoking={})
        change.write(records.current_write(group.group_id, away))
    else:
        remove(change, member)
    change.reply(request.token, {"memberId": body["memberId"], "memberEpoch": request.epoch})
    return change.outcome


def remove(change: Transition, *members: Member) -> None:
    """Remove members, and begin a new epoch without them."""
    group_id = change.group.group_id
    for member in members:
        change.write(*records.member_tombstones(group_id, member.member_id))
        for timer in member_timers(member.member_id):
            change.cancel_timer(timer)
    for regex in dict.fromkeys(member.regex for member in members if member.regex):
        if regex not in change.group.subscribed_regexes:
            change.write(records.regex_write(group_id, regex, None))
    change.bump_epoch(change.view.topics.hash(change.group.subscribed_topics))


def expired(group: ConsumerGroup, timer: Hashable, view: View) -> ConsumerOutcome:
    """Remove the member whose time is up."""
    change = Transition(group, view)
    for member in group.members.values():
        is_late_to_revoke = member.state is MemberState.UNREVOKED_PARTITIONS and member.member_epoch >= 0
        is_rebalance = timer == (REBALANCE, member.member_id)
        if timer in member_timers(member.member_id) and (not is_rebalance or is_late_to_revoke):
            remove(change, member)
    return change.outcome


def loaded(group: ConsumerGroup, view: View) -> list[Effect]:
    """The timers of a group that was read from its records: sessions and the time to give up partitions start again."""
    change = Transition(group, view)
    for member in group.members.values():
        change.set_session_timer(member)
        if member.state is MemberState.UNREVOKED_PARTITIONS:
            change.set_timer((REBALANCE, member.member_id), member.rebalance_timeout_ms)
    return change.outcome.effects
