"""The requests of members of classic groups."""

from __future__ import annotations

from octavo.coordinator.effects import Reply
from octavo.coordinator.groups.classic import sessions, sync
from octavo.coordinator.groups.classic.config import ClassicConfig
from octavo.coordinator.groups.classic.group import ClassicGroup
from octavo.coordinator.groups.classic.join import Caller, JoinRequest, join, refused
from octavo.coordinator.groups.consumer.group import ConsumerGroup
from octavo.coordinator.groups.consumer.leave import leave_members
from octavo.coordinator.groups.driver import GroupDriver, Machine, OnAnswer
from octavo.coordinator.groups.kinds import Group, GroupOutcome, is_empty, removal
from octavo.coordinator.moment import Moment
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode


class ClassicMembers:
    """Thread-safe. Requests are answered through their callbacks, with the row of the response."""

    def __init__(self, driver: GroupDriver, config: ClassicConfig) -> None:
        self._driver = driver
        self._config = config

    def join(self, body: Row, caller: Caller, answer: OnAnswer) -> None:
        """A JoinGroup request. A consumer group without members becomes a classic one."""
        request = JoinRequest(body, caller, answer, self._config)

        def machine(group: Group | None, now: Moment) -> GroupOutcome:
            if not isinstance(group, ConsumerGroup):
                return join(group, request, now)
            if not is_empty(group):
                return group, [Reply(answer, refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))]
            outcome = join(None, request, now)
            return (group if outcome.group is None else outcome.group), [*removal(group), *outcome.effects]

        self._driver.run(body["groupId"], machine, answer, create=bool(body["groupId"]))

    def sync(self, body: Row, answer: OnAnswer) -> None:
        """A SyncGroup request."""

        def machine(group: Group | None, now: Moment) -> GroupOutcome:
            return sync.sync(group, body, answer, now) if isinstance(group, ClassicGroup) else _unknown(group, answer)

        self._run(body["groupId"], machine, answer)

    def heartbeat(self, body: Row, answer: OnAnswer) -> None:
        """A Heartbeat request."""

        def machine(group: Group | None, now: Moment) -> GroupOutcome:
            if isinstance(group, ClassicGroup):
                return sessions.heartbeat(group, body, answer, now)
            return _unknown(group, answer)

        self._run(body["groupId"], machine, answer)

    def leave(self, group_id: str, members: list[Row], answer: OnAnswer) -> None:
        """A LeaveGroup request."""

        def machine(group: Group | None, now: Moment) -> GroupOutcome:
            if isinstance(group, ClassicGroup):
                return sessions.leave(group, members, answer, now, self._config)
            if group is not None:
                return leave_members(group, members, answer, self._driver.view(now))
            unknown = [sessions.left(row, ErrorCode.UNKNOWN_MEMBER_ID) for row in members]
            return None, [Reply(answer, {"members": unknown})]

        self._run(group_id, machine, answer)

    def _run(self, group_id: str, machine: Machine, answer: OnAnswer) -> None:
        if group_id:
            self._driver.run(group_id, machine, answer)
        else:
            answer({"errorCode": ErrorCode.INVALID_GROUP_ID})


def _unknown(group: Group | None, answer: OnAnswer) -> GroupOutcome:
    return group, [Reply(answer, {"errorCode": ErrorCode.UNKNOWN_MEMBER_ID})]
