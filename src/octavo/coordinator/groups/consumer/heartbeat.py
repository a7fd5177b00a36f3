"""ConsumerGroupHeartbeat: a member joins, says that it is alive and what it has, and learns what it should have."""

from __future__ import annotations

import uuid
from dataclasses import replace

from octavo.coordinator.effects import Reply, Write
from octavo.coordinator.errors import RequestError
from octavo.coordinator.groups.consumer import records
from octavo.coordinator.groups.consumer.group import AWAY, LEFT, ConsumerGroup, ConsumerOutcome, Member
from octavo.coordinator.groups.consumer.leave import leave
from octavo.coordinator.groups.consumer.reconcile import reconcile
from octavo.coordinator.groups.consumer.regexes import RegexChange, note_regex, refresh_regexes
from octavo.coordinator.groups.consumer.request import Heartbeat, check
from octavo.coordinator.groups.consumer.target import assign, may_assign
from octavo.coordinator.groups.consumer.transition import Transition, View
from octavo.format.kafka_uuid import to_text
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode


def heartbeat(group: ConsumerGroup | None, request: Heartbeat, view: View) -> ConsumerOutcome:
    """Handle a request. The caller has already converted or refused a group of another type."""
    try:
        check(request, view.config)
        if request.epoch in (LEFT, AWAY):
            return leave(group, request, view)
        return _heartbeat(group, request, view)
    except RequestError as error:
        return ConsumerOutcome(group, [Reply(request.token, {"errorCode": error.code, "errorMessage": error.problem})])


def _heartbeat(group: ConsumerGroup | None, request: Heartbeat, view: View) -> ConsumerOutcome:
    group_id = request.body["groupId"]
    if group is None:
        if request.epoch:
            raise RequestError(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")
        group = ConsumerGroup(group_id=group_id)
    check_size(group, request.body["memberId"], view)
    change = Transition(group, view)
    known = _member(change, request, request.body["memberId"] or new_id())
    if known.is_local is not request.is_local and known.member_id in group.members:
        raise RequestError(ErrorCode.UNKNOWN_MEMBER_ID, f"Member id {known.member_id} belongs to another client.")
    member = _updated(known, request)
    if member != known or member.member_id not in change.group.members:
        change.put(member)
    regex = note_regex(change, known, member)
    is_changed = member.topics != known.topics
    update_epoch(change, is_changed or regex is RegexChange.RESOLVED)
    is_behind = change.group.assignment_epoch < change.group.epoch
    if is_behind and (request.is_local or may_assign(change.group, view)):
        assign(change)
    is_changed = is_changed or regex is not RegexChange.NONE
    member = reconcile(change, member.member_id, request.owned, is_subscription_changed=is_changed)
    change.set_session_timer(member)
    answer: Row = {
        "memberId": member.member_id,
        "memberEpoch": member.member_epoch,
        "heartbeatIntervalMs": view.config.group_consumer_heartbeat_interval_ms,
    }
    if request.epoch == 0 or request.is_full or member.assigned != known.assigned:
        answer["assignment"] = {"topicPartitions": records.partition_rows(member.assigned)}
    change.reply(request.token, answer)
    refresh_regexes(change, request.may_describe, is_new=regex is RegexChange.NEW)
    return change.outcome


def check_size(group: ConsumerGroup, member_id: str, view: View) -> None:
    limit = view.config.group_consumer_max_size
    if len(group.members) >= limit and member_id not in group.members:
        problem = f"The consumer group has reached its maximum capacity of {limit} members."
        raise RequestError(ErrorCode.GROUP_MAX_SIZE_REACHED, problem)


def new_id() -> str:
    """A random id in Kafka's form, which never begins with a dash."""
    return next(text for text in iter(lambda: to_text(uuid.uuid4().bytes), "") if not text.startswith("-"))


def _member(change: Transition, request: Heartbeat, member_id: str) -> Member:
    """The member that sends the request, as it was before."""
    instance_id = request.body["instanceId"]
    if not request.epoch:
        return joining_member(change, member_id, instance_id)
    member = change.group.member(member_id, instance_id)
    _check_epoch(member, request)
    return member


def joining_member(change: Transition, member_id: str, instance_id: str | None, *, is_classic: bool = False) -> Member:
    """The member that joins, as it was before, or a new one.

    A static member replaces the one with its instance id, which must have gone away if both use the consumer protocol.
    """
    group = change.group
    if instance_id is None or instance_id not in group.static_members:
        return group.members.get(member_id) or Member(member_id=member_id)
    gone = group.members[group.static_members[instance_id]]
    if not is_classic and gone.classic is None and gone.member_epoch != AWAY:
        raise RequestError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance id "
            f"is owned by {gone.member_id} member.",
        )
    member = replace(gone, member_id=member_id, member_epoch=0, previous_epoch=0)
    target = group.targets.get(gone.member_id, frozenset())
    change.write(
        *records.member_tombstones(group.group_id, gone.member_id),
        records.member_write(group.group_id, member),
        records.target_write(group.group_id, member_id, target),
        records.current_write(group.group_id, member),
    )
    return member


def _check_epoch(member: Member, request: Heartbeat) -> None:
    """Refuse an epoch that is not the member's. The previous one is accepted if the last answer may have been lost."""
    if request.epoch == member.member_epoch:
        return
    owned = request.owned
    is_answer_lost = owned is not None and owned <= member.assigned.keys()
    if request.epoch < member.member_epoch and request.epoch == member.previous_epoch and is_answer_lost:
        return
    comparison = "greater" if request.epoch > member.member_epoch else "smaller"
    raise RequestError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {comparison} member epoch ({request.epoch}) than the one known by the group "
        f"coordinator ({member.member_epoch}). The member must abandon all its partitions and rejoin.",
    )


def _updated(member: Member, request: Heartbeat) -> Member:
    body = request.body
    names, timeout_ms = body["subscribedTopicNames"], body["rebalanceTimeoutMs"]
    regex = body["subscribedTopicRegex"]
    return replace(
        member,
        instance_id=body["instanceId"] or member.instance_id,
        rack_id=body["rackId"] or member.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        assignor=member.assignor if body["serverAssignor"] is None else body["serverAssignor"],
        topics=member.topics if names is None else frozenset(names),
        regex=member.regex if regex is None else regex,
        client_id=request.client_id,
        client_host=request.client_host,
        classic=None,
        session_timeout_ms=request.session_timeout_ms,
    )


def update_epoch(change: Transition, is_changed: bool) -> None:
    """Begin a new epoch if subscriptions have changed, or if their topics have."""
    if not is_changed and change.group.hashed_topics is change.view.topics:
        return
    metadata_hash = change.view.topics.hash(change.group.subscribed_topics)
    if is_changed or metadata_hash != change.group.metadata_hash:
        change.bump_epoch(metadata_hash)
    change.group = replace(change.group, hashed_topics=change.view.topics)
    if change.group.has_partition_metadata:
        change.write(Write(records.PARTITION_METADATA, {"groupId": change.group.group_id}, None))
