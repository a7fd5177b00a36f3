"""Heartbeats keep a member's session alive; a member that leaves, or does not report in time, is removed."""

from __future__ import annotations

from collections.abc import Hashable

from octavo.config import BrokerConfig
from octavo.coordinator.effects import Moment
from octavo.coordinator.errors import RequestError
from octavo.coordinator.groups.classic import rebalance, sync
from octavo.coordinator.groups.classic.group import ClassicGroup, ClassicOutcome, ClassicState
from octavo.coordinator.groups.classic.join import refused
from octavo.coordinator.groups.classic.transition import JOIN_TIMER, SYNC_TIMER, ClassicTransition
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode


def heartbeat(group: ClassicGroup, body: Row, token: Hashable, now: Moment) -> ClassicOutcome:
    """Renew a member's session; the answer says whether it has to join again."""
    change, code = ClassicTransition(group, now), 0
    try:
        group.check_member(body["memberId"], body["groupInstanceId"], body["generationId"])
    except RequestError as error:
        code = error.code
    else:
        if group.state is ClassicState.PREPARING_REBALANCE:
            code = ErrorCode.REBALANCE_IN_PROGRESS
        change.renew_session(group.members[body["memberId"]])
    change.reply(token, {"errorCode": code})
    return change.outcome


def leave(
    group: ClassicGroup, members: list[Row], token: Hashable, now: Moment, config: BrokerConfig
) -> ClassicOutcome:
    """Remove members, given by their ids or, if an administrator asks, by their instance ids alone."""
    change, answers = ClassicTransition(group, now), []
    for row in members:
        answers.append(left(row, _leave(change, row["memberId"], row["groupInstanceId"])))
    if any(not answer["errorCode"] for answer in answers) and group.state is not ClassicState.EMPTY:
        rebalance.rebalance_or_complete(change, config)
    change.reply(token, {"members": answers})
    return change.outcome


def left(row: Row, code: int) -> Row:
    """The answer for one member of a LeaveGroup request."""
    return {"memberId": row["memberId"], "groupInstanceId": row["groupInstanceId"], "errorCode": code}


def _leave(change: ClassicTransition, member_id: str, instance_id: str | None) -> int:
    group = change.group
    if not member_id:
        found = group.static_member_id(instance_id)
        if found is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        _remove(change, found)
    elif member_id in group.pending:
        change.remove(member_id)
    else:
        try:
            group.check_member(member_id, instance_id)
        except RequestError as error:
            return error.code
        _remove(change, member_id)
    return 0


def loaded(group: ClassicGroup, now: Moment, config: BrokerConfig) -> ClassicOutcome:
    """After a restart, each member has a whole session to report; a group that exceeds group.max.size rebalances."""
    change = ClassicTransition(group, now)
    for member in group.members.values():
        change.renew_session(member)
    if len(group.members) > config.group_max_size:
        rebalance.begin(change, config)
    return change.outcome


def expired(group: ClassicGroup, timer: Hashable, now: Moment, config: BrokerConfig) -> ClassicOutcome:
    """One of the group's timers has run out."""
    if timer == JOIN_TIMER:
        change = ClassicTransition(group, now)
        rebalance.end_of_wait(change, config)
        return change.outcome
    if timer == SYNC_TIMER:
        return sync.expired(group, now, config)
    match timer:
        case ("member", str(member_id)):
            return _member_expired(group, member_id, now, config)
    return ClassicOutcome(group, [])


def _member_expired(group: ClassicGroup, member_id: str, now: Moment, config: BrokerConfig) -> ClassicOutcome:
    """A member did not report in time, or a member id that was given out was not used."""
    change, member = ClassicTransition(group, now), group.members.get(member_id)
    if member is not None and member.is_waiting:  # its session begins again when its request is answered
        return change.outcome
    if member is not None:
        _remove(change, member_id)
        if group.state in (ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE):
            rebalance.begin(change, config)
    elif member_id in group.pending:
        change.remove(member_id)
    else:
        return change.outcome
    if change.group.state is ClassicState.PREPARING_REBALANCE and change.group.has_all_joined:
        rebalance.complete(change)
    return change.outcome


def _remove(change: ClassicTransition, member_id: str) -> None:
    """Remove a member; if it waits for an answer, that tells it to join as a new member."""
    member = change.answer_join(change.group.members[member_id], refused(ErrorCode.UNKNOWN_MEMBER_ID))
    change.answer_sync(member, {"errorCode": ErrorCode.UNKNOWN_MEMBER_ID})
    change.remove(member_id)
