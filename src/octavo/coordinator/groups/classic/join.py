"""JoinGroup: a member enters the group, or comes back for the next generation."""

from __future__ import annotations

import uuid
from collections.abc import Hashable
from dataclasses import replace
from typing import NamedTuple

from octavo.config import BrokerConfig
from octavo.coordinator.effects import Moment, Reply
from octavo.coordinator.errors import RequestError
from octavo.coordinator.groups.classic import rebalance
from octavo.coordinator.groups.classic.group import ClassicGroup, ClassicMember, ClassicOutcome, ClassicState
from octavo.coordinator.groups.classic.transition import ClassicTransition, member_timer
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode

UNKNOWN_MEMBER = ""
MEMBER_ID_FROM_VERSION = 4  # from this version on, a dynamic member has to come back with the id it was given
_SKIP_FROM_VERSION = 9
_NEW_MEMBER_TIMEOUT_MS = 5 * 60_000  # how long a new member may wait for its first rebalance


class Caller(NamedTuple):
    """Who sends a request, and in which version."""

    client_id: str
    client_host: str
    version: int


def refused(code: ErrorCode, member_id: str = UNKNOWN_MEMBER) -> Row:
    """The answer to a JoinGroup that is not accepted."""
    return {"errorCode": code, "memberId": member_id, "leader": "", "protocolName": None, "members": []}


class JoinRequest(NamedTuple):
    """A JoinGroup request: its fields, who sent it, and the token of its answer."""

    body: Row
    caller: Caller
    token: Hashable
    config: BrokerConfig

    @property
    def protocols(self) -> tuple[tuple[str, bytes], ...]:
        return tuple((row["name"], row["metadata"]) for row in self.body["protocols"])

    @property
    def rebalance_timeout_ms(self) -> int:
        timeout_ms: int = self.body["sessionTimeoutMs" if self.caller.version == 0 else "rebalanceTimeoutMs"]
        return timeout_ms

    @property
    def has_valid_session_timeout(self) -> bool:
        lowest, highest = self.config.group_min_session_timeout_ms, self.config.group_max_session_timeout_ms
        return bool(lowest <= self.body["sessionTimeoutMs"] <= highest)

    def updated(self, member: ClassicMember) -> ClassicMember:
        """The member as the request describes it, waiting for the answer."""
        return replace(
            member,
            protocols=self.protocols,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            session_timeout_ms=self.body["sessionTimeoutMs"],
            join=self.token,
        )


def join(group: ClassicGroup | None, request: JoinRequest, now: Moment) -> ClassicOutcome:
    """Let a member join. If that needs a rebalance, the answer comes at the end of its first phase."""
    body, config = request.body, request.config
    member_id = body["memberId"]
    if not body["groupId"]:
        return _refusal(group, request, ErrorCode.INVALID_GROUP_ID)
    if not request.has_valid_session_timeout:
        return _refusal(group, request, ErrorCode.INVALID_SESSION_TIMEOUT)
    if group is None and member_id != UNKNOWN_MEMBER:
        return _refusal(group, request, ErrorCode.UNKNOWN_MEMBER_ID)
    change = ClassicTransition(group or ClassicGroup(body["groupId"], state_since_ms=now.time_ms), now)
    if group is None:
        change.write()
    group = change.group
    if not _has_room(group, member_id, config.group_max_size):
        change.remove(member_id)
        change.reply(request.token, refused(ErrorCode.GROUP_MAX_SIZE_REACHED))
    elif not group.supports(body["protocolType"], [name for name, _ in request.protocols]):
        change.reply(request.token, refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id))
    elif member_id == UNKNOWN_MEMBER:
        _join_new(change, request)
    elif member_id in group.pending:
        _add(change, request, member_id)
    else:
        _join_again(change, request, member_id)
    return change.outcome


def _refusal(group: ClassicGroup | None, request: JoinRequest, code: ErrorCode) -> ClassicOutcome:
    return ClassicOutcome(group, [Reply(request.token, refused(code, request.body["memberId"]))])


def _has_room(group: ClassicGroup, member_id: str, max_size: int) -> bool:
    member = group.members.get(member_id)
    if group.state is ClassicState.EMPTY:
        return True
    if group.state is ClassicState.PREPARING_REBALANCE:
        waiting = sum(other.join is not None for other in group.members.values())
        return (member is not None and member.join is not None) or waiting < max_size
    return member is not None or len(group.members) < max_size


def _join_new(change: ClassicTransition, request: JoinRequest) -> None:
    body, caller = request.body, request.caller
    instance_id = body["groupInstanceId"]
    member_id = f"{caller.client_id if instance_id is None else instance_id}-{uuid.uuid4()}"
    known = change.group.static_member_id(instance_id)
    if known is not None:
        _replace(change, request, known, member_id)
    elif instance_id is None and caller.version >= MEMBER_ID_FROM_VERSION:
        change.change(pending=change.group.pending | {member_id})
        change.set_timer(member_timer(member_id), body["sessionTimeoutMs"])
        change.reply(request.token, refused(ErrorCode.MEMBER_ID_REQUIRED, member_id))
    else:
        _add(change, request, member_id)


def _add(change: ClassicTransition, request: JoinRequest, member_id: str) -> None:
    """Add a member. Before its first answer it cannot send heartbeats, so its session timeout does not apply yet."""
    body, caller, group = request.body, request.caller, change.group
    member = ClassicMember(
        member_id, body["groupInstanceId"], caller.client_id, caller.client_host, 0, 0, (), is_new=True
    )
    change.change(has_newcomer=group.is_initial)
    if not group.members:
        change.change(protocol_type=body["protocolType"])
    change.put(request.updated(member))
    change.set_timer(member_timer(member_id), _NEW_MEMBER_TIMEOUT_MS)
    rebalance.rebalance_or_complete(change, request.config)


def _join_again(change: ClassicTransition, request: JoinRequest, member_id: str) -> None:
    group = change.group
    try:
        group.check_member(member_id, request.body["groupInstanceId"])
    except RequestError as error:
        change.reply(request.token, refused(error.code, member_id))
        return
    member = group.members[member_id]
    is_unchanged = member.protocols == request.protocols
    if is_unchanged and (
        group.state is ClassicState.COMPLETING_REBALANCE
        or (group.state is ClassicState.STABLE and group.leader != member_id)
    ):
        change.reply(request.token, change.joined_answer(member_id))
    else:
        change.put(request.updated(member))
        rebalance.rebalance_or_complete(change, request.config)


def _replace(change: ClassicTransition, request: JoinRequest, old_id: str, new_id: str) -> None:
    """Let a static member that came back replace its former self, whose waiting requests are refused."""
    group = change.group
    old, old_leader = group.members[old_id], group.leader
    if old.join is not None:
        change.reply(old.join, refused(ErrorCode.FENCED_INSTANCE_ID, old_id))
    if old.sync is not None:
        change.reply(old.sync, {"errorCode": ErrorCode.FENCED_INSTANCE_ID})
    members = {known: member for known, member in group.members.items() if known != old_id}
    returned = replace(old, member_id=new_id, is_new=False, join=None, sync=None)
    change.change(
        members={**members, new_id: request.updated(returned)},
        leader=new_id if old_leader == old_id else old_leader,
    )
    change.cancel_timer(member_timer(old_id))
    change.renew_session(returned)
    if group.state is ClassicState.STABLE and group.protocol_name == change.group.voted_protocol():
        change.write()
        _welcome_back(change, request, new_id, old_leader)
    else:
        rebalance.rebalance_or_complete(change, request.config)


def _welcome_back(change: ClassicTransition, request: JoinRequest, member_id: str, old_leader: str | None) -> None:
    """Answer without a rebalance: nobody has to assign again, not even if this member is the leader."""
    is_leader = change.group.leader == member_id
    if request.caller.version >= _SKIP_FROM_VERSION:
        answer = change.joined_answer(member_id, skip_assignment=is_leader)
    else:  # it must not believe that it is the leader
        answer = {**change.joined_answer(member_id), "leader": old_leader or "", "members": []}
    change.answer_join(change.group.members[member_id], answer)
