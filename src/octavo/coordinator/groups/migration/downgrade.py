"""A consumer group becomes a classic group when only members of the classic protocol are left."""

from __future__ import annotations

from dataclasses import replace

from octavo.config import BrokerConfig
from octavo.coordinator.effects import CancelTimer, Effect, Write
from octavo.coordinator.groups.classic import rebalance
from octavo.coordinator.groups.classic.group import ClassicGroup, ClassicMember, ClassicState
from octavo.coordinator.groups.classic.transition import ClassicTransition
from octavo.coordinator.groups.consumer import records
from octavo.coordinator.groups.consumer.group import ConsumerGroup, Member
from octavo.coordinator.groups.consumer.transition import View, member_timers
from octavo.coordinator.groups.kinds import GroupOutcome
from octavo.coordinator.groups.migration.classic_members import assignment
from octavo.format.messages.consumer_protocol import PROTOCOL_TYPE


def downgraded(before: ConsumerGroup, outcome: GroupOutcome, view: View) -> GroupOutcome:
    """The outcome of an event, with a classic group if it removed a member and left only ones of the classic protocol.

    The configs group.consumer.migration.policy and group.max.size must allow it. The members that are left get their
    targets as assignments, and are told to join again.
    """
    group, effects = outcome
    if not isinstance(group, ConsumerGroup) or not _is_due(before, group, view.config):
        return outcome
    local = {member.member_id for member in before.members.values() if member.is_local}
    gone = [write for write in records.tombstones(before) if write.key.get("memberId") not in local]
    kept: list[Effect] = [effect for effect in effects if not isinstance(effect, Write)]
    cancelled = [CancelTimer(timer) for member_id in before.members for timer in member_timers(member_id)]
    change = ClassicTransition(_classic(before, group, view), view.now)
    change.write()
    for member in change.group.members.values():
        change.renew_session(member)
    rebalance.begin(change, view.config)
    return change.group, [*gone, *kept, *cancelled, *change.effects]


def _is_due(before: ConsumerGroup, group: ConsumerGroup, config: BrokerConfig) -> bool:
    is_smaller = not before.members.keys() <= group.members.keys()
    are_all_classic = all(member.classic is not None for member in group.members.values())
    fits = 0 < len(group.members) <= config.group_max_size
    is_wanted = config.group_consumer_migration_policy.lower() in ("bidirectional", "downgrade")
    return is_smaller and are_all_classic and fits and is_wanted


def _classic(before: ConsumerGroup, group: ConsumerGroup, view: View) -> ClassicGroup:
    members = {member.member_id: _member(member) for member in group.members.values()}
    classic = ClassicGroup(
        before.group_id,
        ClassicState.STABLE,
        before.epoch,
        PROTOCOL_TYPE,
        None,
        next(iter(members)),
        members,
        state_since_ms=view.now.time_ms,
    )
    protocol = classic.voted_protocol()
    assigned = {}
    for member_id, member in members.items():
        version = int.from_bytes(member.metadata(protocol)[:2])
        target = before.targets.get(member_id, frozenset())
        assigned[member_id] = replace(member, assignment=assignment(target, version, view.topics))
    classic = replace(classic, protocol_name=protocol, members=assigned)
    return replace(classic, subscribed_topics=classic.parsed_topics())


def _member(member: Member) -> ClassicMember:
    assert member.classic is not None, "only such members are left"
    protocols = tuple((row["name"], row["metadata"]) for row in member.classic["supportedProtocols"])
    return ClassicMember(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms,
        member.classic["sessionTimeoutMs"],
        protocols,
    )
