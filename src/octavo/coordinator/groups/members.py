"""The requests of members that use the classic protocol, in classic and in consumer groups."""

from __future__ import annotations

from collections.abc import Callable

from octavo.coordinator.effects import Moment, Reply
from octavo.coordinator.groups.classic import sessions, sync
from octavo.coordinator.groups.classic.group import ClassicGroup
from octavo.coordinator.groups.classic.join import Caller, JoinRequest, join, refused
from octavo.coordinator.groups.consumer.group import ConsumerGroup
from octavo.coordinator.groups.consumer.transition import View
from octavo.coordinator.groups.driver import GroupDriver, Machine, OnAnswer
from octavo.coordinator.groups.kinds import Group, GroupOutcome, is_empty, removal
from octavo.coordinator.groups.migration import classic_members
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode

_Classic = Callable[[ClassicGroup, Row, OnAnswer, Moment], GroupOutcome]
_Consumer = Callable[[ConsumerGroup, Row, OnAnswer, View], GroupOutcome]


class ClassicMembers:
    """Thread-safe. Requests are answered through their callbacks, with the row of the response."""

    def __init__(self, driver: GroupDriver) -> None:
        self._driver = driver

    def join(self, body: Row, caller: Caller, answer: OnAnswer) -> None:
        """A JoinGroup request. From a new member with a valid session timeout, it turns a consumer group without
        members into a classic one."""
        request = JoinRequest(body, caller, answer, self._driver.config)

        def machine(group: Group | None, now: Moment) -> GroupOutcome:
            if not isinstance(group, ConsumerGroup):
                return join(group, request, now)
            if not is_empty(group):
                if not request.has_valid_session_timeout:
                    return group, [Reply(answer, refused(ErrorCode.INVALID_SESSION_TIMEOUT, body["memberId"]))]
                view = self._driver.view(group.group_id, now)
                if view.config.group_consumer_migration_policy.lower() == "disabled":
                    return group, [Reply(answer, refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, body["memberId"]))]
                return classic_members.join(group, request, view)
            outcome = join(None, request, now)
            if outcome.group is None:  # refused
                return group, outcome.effects
            return outcome.group, [*removal(group), *outcome.effects]

        self._driver.run(body["groupId"], machine, answer, create=bool(body["groupId"]))

    def sync(self, body: Row, answer: OnAnswer) -> None:
        self._ask(body, answer, sync.sync, classic_members.sync)

    def heartbeat(self, body: Row, answer: OnAnswer) -> None:
        self._ask(body, answer, sessions.heartbeat, classic_members.heartbeat)

    def leave(self, group_id: str, members: list[Row], answer: OnAnswer) -> None:
        def machine(group: Group | None, now: Moment) -> GroupOutcome:
            if isinstance(group, ClassicGroup):
                return sessions.leave(group, members, answer, now, self._driver.config)
            if group is not None:
                return classic_members.leave(group, members, answer, self._driver.view(group.group_id, now))
            unknown = [sessions.left(row, ErrorCode.UNKNOWN_MEMBER_ID) for row in members]
            return None, [Reply(answer, {"members": unknown})]

        self._run(group_id, machine, answer)

    def _ask(self, body: Row, answer: OnAnswer, classic: _Classic, consumer: _Consumer) -> None:
        """Let the function for the group's kind answer a member's request."""

        def machine(group: Group | None, now: Moment) -> GroupOutcome:
            if isinstance(group, ClassicGroup):
                return classic(group, body, answer, now)
            if group is not None:
                return consumer(group, body, answer, self._driver.view(group.group_id, now))
            return None, [Reply(answer, {"errorCode": ErrorCode.UNKNOWN_MEMBER_ID})]

        self._run(body["groupId"], machine, answer)

    def _run(self, group_id: str, machine: Machine, answer: OnAnswer) -> None:
        if group_id:
            self._driver.run(group_id, machine, answer)
        else:
            answer({"errorCode": ErrorCode.INVALID_GROUP_ID})
