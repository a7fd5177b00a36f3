"""SyncGroup: the leader sends the assignment, and every member gets its part."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from octavo.config import BrokerConfig
from octavo.coordinator.effects import Moment, Reply
from octavo.coordinator.errors import RequestError
from octavo.coordinator.groups.classic import rebalance
from octavo.coordinator.groups.classic.group import ClassicGroup, ClassicOutcome, ClassicState
from octavo.coordinator.groups.classic.transition import SYNC_TIMER, ClassicTransition
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode


def sync(group: ClassicGroup, body: Row, token: Hashable, now: Moment) -> ClassicOutcome:
    """Answer with the member's assignment, as soon as the leader has sent it."""
    try:
        _check(group, body)
    except RequestError as error:
        return ClassicOutcome(group, [Reply(token, {"errorCode": error.code})])
    change, member = ClassicTransition(group, now), group.members[body["memberId"]]
    change.change(unsynced=group.unsynced - {member.member_id})
    if not change.group.unsynced:
        change.cancel_timer(SYNC_TIMER)
    if group.state is ClassicState.STABLE:
        change.reply(token, change.synced_answer(member))
        return change.outcome
    change.put(replace(member, sync=token))
    if group.leader == member.member_id:
        _assign(change, {row["memberId"]: row["assignment"] for row in body["assignments"]})
    return change.outcome


def _check(group: ClassicGroup, body: Row) -> None:
    if group.state is ClassicState.EMPTY:
        raise RequestError(ErrorCode.UNKNOWN_MEMBER_ID)
    group.check_member(body["memberId"], body["groupInstanceId"], body["generationId"])
    if _differs(body["protocolType"], group.protocol_type) or _differs(body["protocolName"], group.protocol_name):
        raise RequestError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if group.state is ClassicState.PREPARING_REBALANCE:
        raise RequestError(ErrorCode.REBALANCE_IN_PROGRESS)


def _differs(given: str | None, known: str | None) -> bool:
    return given is not None and known is not None and given != known


def _assign(change: ClassicTransition, assignments: dict[str, bytes]) -> None:
    """Write the assignments of all members, then send them; a member that the leader left out gets an empty one."""
    assigned = {
        member_id: replace(member, assignment=assignments.get(member_id, b""))
        for member_id, member in change.group.members.items()
    }
    change.change(members=assigned)
    change.write()
    change.enter(ClassicState.STABLE)
    for member in assigned.values():
        rebalance.answer_sync(change, member, change.synced_answer(member))


def expired(group: ClassicGroup, now: Moment, config: BrokerConfig) -> ClassicOutcome:
    """Remove the members whose SyncGroup did not come in time, and rebalance without them."""
    change = ClassicTransition(group, now)
    if group.unsynced and group.state in (ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE):
        for member_id in group.unsynced:
            change.remove(member_id)
        rebalance.begin(change, config)
    return change.outcome
