"""Members of a consumer group that use the classic protocol.

The answer to a Heartbeat tells them when to join again, and the answers to JoinGroup and SyncGroup say what the answer
to a ConsumerGroupHeartbeat would have said.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from octavo.coordinator.effects import Reply
from octavo.coordinator.errors import RequestError
from octavo.coordinator.groups.classic.join import MEMBER_ID_FROM_VERSION, UNKNOWN_MEMBER, JoinRequest, refused
from octavo.coordinator.groups.classic.sessions import left
from octavo.coordinator.groups.consumer.group import ConsumerGroup, ConsumerOutcome, Member, MemberState
from octavo.coordinator.groups.consumer.heartbeat import check_size, joining_member, new_id, update_epoch
from octavo.coordinator.groups.consumer.leave import remove
from octavo.coordinator.groups.consumer.reconcile import reconcile
from octavo.coordinator.groups.consumer.regexes import RegexChange, note_regex
from octavo.coordinator.groups.consumer.target import assign, may_assign
from octavo.coordinator.groups.consumer.topics import GroupTopics
from octavo.coordinator.groups.consumer.transition import SYNC, Transition, View
from octavo.errors import CorruptionError
from octavo.format.messages.consumer_protocol import PROTOCOL_TYPE, decode_subscription, encode_assignment
from octavo.format.messages.schema import Row
from octavo.format.names import by_topic
from octavo.format.protocol.error_codes import ErrorCode


def join(group: ConsumerGroup, request: JoinRequest, view: View) -> ConsumerOutcome:
    """JoinGroup: answered at once, because the coordinator makes the assignment."""
    try:
        return _join(group, request, view)
    except RequestError as error:
        return ConsumerOutcome(group, [Reply(request.token, refused(error.code, request.body["memberId"]))])


def _join(group: ConsumerGroup, request: JoinRequest, view: View) -> ConsumerOutcome:
    body, caller = request.body, request.caller
    is_unknown = body["memberId"] == UNKNOWN_MEMBER
    member_id = new_id() if is_unknown else body["memberId"]
    instance_id = body["groupInstanceId"]
    check_size(group, member_id, view)
    _check_protocols(group, member_id, request)
    if is_unknown and instance_id is None and caller.version >= MEMBER_ID_FROM_VERSION:
        return ConsumerOutcome(group, [Reply(request.token, refused(ErrorCode.MEMBER_ID_REQUIRED, member_id))])
    change = Transition(group, view)
    if instance_id is None or is_unknown:
        known = joining_member(change, member_id, instance_id, is_classic=True)
    else:
        known = group.member(member_id, instance_id)
    subscription = _subscription(request)
    member = replace(
        known,
        instance_id=instance_id or known.instance_id,
        rack_id=subscription.get("rackId") or known.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topics=frozenset(subscription["topics"]),
        regex="",
        client_id=caller.client_id,
        client_host=caller.client_host,
        classic={
            "sessionTimeoutMs": body["sessionTimeoutMs"],
            "supportedProtocols": [{"name": name, "metadata": bytes(data)} for name, data in request.protocols],
        },
        session_timeout_ms=None,
    )
    if member != known or member_id not in change.group.members:
        change.put(member)
    is_changed = note_regex(change, known, member) is not RegexChange.NONE or member.topics != known.topics
    update_epoch(change, is_changed)
    if change.group.assignment_epoch < change.group.epoch and may_assign(change.group, view):
        assign(change)
    owned = frozenset(view.topics.partitions_in(subscription.get("ownedPartitions") or ()))
    member = reconcile(change, member_id, owned, is_subscription_changed=is_changed)
    change.end_rejoin(member_id)
    change.set_session_timer(member)
    change.set_timer((SYNC, member_id), member.rebalance_timeout_ms)
    change.reply(
        request.token,
        {
            "memberId": member_id,
            "generationId": member.member_epoch,
            "protocolType": PROTOCOL_TYPE,
            "protocolName": request.protocols[0][0],
            "leader": "",
            "members": [],
        },
    )
    return change.outcome


def sync(group: ConsumerGroup, body: Row, token: Hashable, view: View) -> ConsumerOutcome:
    """SyncGroup: the answer is what the member was assigned when it joined."""
    change = Transition(group, view)
    try:
        member = _member(group, body)
        first = member.classic["supportedProtocols"][0] if member.classic else {}
        if body["protocolType"] not in (None, PROTOCOL_TYPE) or body["protocolName"] not in (None, first["name"]):
            raise RequestError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if group.assignment_epoch > member.member_epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
            change.begin_rejoin(member)
            raise RequestError(ErrorCode.REBALANCE_IN_PROGRESS)
    except RequestError as error:
        change.reply(token, {"errorCode": error.code})
        return change.outcome
    change.cancel_timer((SYNC, member.member_id))
    change.set_session_timer(member)
    version = int.from_bytes(first["metadata"][:2])
    answer = {"protocolType": body["protocolType"], "protocolName": body["protocolName"]}
    change.reply(token, {**answer, "assignment": assignment(member.assigned, version, view.topics)})
    return change.outcome


def heartbeat(group: ConsumerGroup, body: Row, token: Hashable, view: View) -> ConsumerOutcome:
    """Heartbeat: the member has to join again for a newer assignment, to give up partitions, or to get free ones."""
    change, code = Transition(group, view), 0
    try:
        member = _member(group, body)
    except RequestError as error:
        code = error.code
    else:
        change.set_session_timer(member)
        is_waiting = member.state is MemberState.UNRELEASED_PARTITIONS
        if (
            member.member_epoch < group.assignment_epoch
            or member.state is MemberState.UNREVOKED_PARTITIONS
            or (is_waiting and not _has_to_wait(group, member))
        ):
            code = ErrorCode.REBALANCE_IN_PROGRESS
            change.begin_rejoin(member)
    change.reply(token, {"errorCode": code})
    return change.outcome


def leave(group: ConsumerGroup, rows: list[Row], token: Hashable, view: View) -> ConsumerOutcome:
    """LeaveGroup: removes members, given by their ids or, if an administrator asks, by their instance ids alone."""
    change, answers, members = Transition(group, view), [], dict[str, Member]()
    for row in rows:
        member_id, instance_id = row["memberId"], row["groupInstanceId"]
        try:
            member = group.member(member_id or group.static_members.get(instance_id, ""), instance_id)
            members[member.member_id] = member
            answers.append(left(row, ErrorCode.NONE))
        except RequestError as error:
            answers.append(left(row, error.code))
    if members:
        remove(change, *members.values())
    change.reply(token, {"members": answers})
    return change.outcome


def assignment(partitions: Any, version: int, topics: GroupTopics) -> bytes:
    """Partitions in the form that members of the classic protocol read."""
    places = by_topic(place for one in sorted(partitions) if (place := topics.by_partition(one)) is not None)
    rows = [{"topic": topic, "partitions": numbers} for topic, numbers in places.items()]
    return encode_assignment(max(0, min(version, 3)), {"assignedPartitions": rows, "userData": None})


def _check_protocols(group: ConsumerGroup, member_id: str, request: JoinRequest) -> None:
    """All members of the classic protocol need a protocol in common, even though nobody uses it."""
    others = [
        {row["name"] for row in member.classic["supportedProtocols"]}
        for member in group.members.values()
        if member.classic is not None
    ]
    names = {name for name, _ in request.protocols}
    if request.body["protocolType"] != PROTOCOL_TYPE or not any(
        all(name in other for other in others) for name in names
    ):
        raise RequestError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"Member {member_id}'s protocols are not supported.")


def _subscription(request: JoinRequest) -> Row:
    try:
        return decode_subscription(request.protocols[0][1]).data
    except CorruptionError:
        raise RequestError(ErrorCode.UNKNOWN_SERVER_ERROR) from None


def _member(group: ConsumerGroup, body: Row) -> Member:
    """The classic member that sends a request in its current epoch."""
    member = group.member(body["memberId"], body["groupInstanceId"])
    if member.classic is None:
        raise RequestError(ErrorCode.UNKNOWN_MEMBER_ID)
    if body["generationId"] != member.member_epoch:
        raise RequestError(ErrorCode.ILLEGAL_GENERATION)
    return member


def _has_to_wait(group: ConsumerGroup, member: Member) -> bool:
    """Whether another member still has something that this one should get."""
    missing = group.targets.get(member.member_id, frozenset()) - member.assigned.keys()
    return not missing.isdisjoint(group.owned)
