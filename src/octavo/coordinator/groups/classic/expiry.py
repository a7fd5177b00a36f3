"""What happens when one of a group's timers runs out, and which timers a group needs after a restart."""

from __future__ import annotations

from collections.abc import Hashable

from octavo.config import BrokerConfig
from octavo.coordinator.effects import Moment
from octavo.coordinator.groups.classic import rebalance, sessions, sync
from octavo.coordinator.groups.classic.group import ClassicGroup, ClassicOutcome
from octavo.coordinator.groups.classic.transition import JOIN_TIMER, SYNC_TIMER, ClassicTransition


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
            return sessions.expired(group, member_id, now, config)
    return ClassicOutcome(group, [])


def loaded(group: ClassicGroup, now: Moment, config: BrokerConfig) -> ClassicOutcome:
    """After a restart, each member has a whole session to report; a group that exceeds group.max.size rebalances."""
    change = ClassicTransition(group, now)
    for member in group.members.values():
        change.renew_session(member)
    if len(group.members) > config.group_max_size:
        rebalance.begin(change, config)
    return change.outcome
