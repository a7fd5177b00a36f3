"""The requests of members of classic groups."""

from __future__ import annotations

from octavo.coordinator.effects import Reply
from octavo.coordinator.groups.classic import sessions, sync
from octavo.coordinator.groups.classic.config import ClassicConfig
from octavo.coordinator.groups.classic.join import Caller, JoinRequest, join
from octavo.coordinator.groups.driver import GroupDriver, GroupOutcome, Machine, OnAnswer
from octavo.coordinator.groups.partition import Group
from octavo.coordinator.moment import Moment
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode


class ClassicMembers:
    """Thread-safe. Requests are answered through their callbacks, with the row of the response."""

    def __init__(self, driver: GroupDriver, config: ClassicConfig) -> None:
        self._driver = driver
        self._config = config

    def join(self, body: Row, caller: Caller, answer: OnAnswer) -> None:
        """A JoinGroup request."""
        request = JoinRequest(body, caller, answer, self._config)

        def machine(group: Group | None, now: Moment) -> GroupOutcome:
            return GroupOutcome(*join(group, request, now))

        self._driver.run(body["groupId"], machine, answer, create=bool(body["groupId"]))

    def sync(self, body: Row, answer: OnAnswer) -> None:
        """A SyncGroup request."""

        def machine(group: Group | None, now: Moment) -> GroupOutcome:
            return _unknown(answer) if group is None else GroupOutcome(*sync.sync(group, body, answer, now))

        self._run(body["groupId"], machine, answer)

    def heartbeat(self, body: Row, answer: OnAnswer) -> None:
        """A Heartbeat request."""

        def machine(group: Group | None, now: Moment) -> GroupOutcome:
            return _unknown(answer) if group is None else GroupOutcome(*sessions.heartbeat(group, body, answer, now))

        self._run(body["groupId"], machine, answer)

    def leave(self, group_id: str, members: list[Row], answer: OnAnswer) -> None:
        """A LeaveGroup request."""

        def machine(group: Group | None, now: Moment) -> GroupOutcome:
            if group is not None:
                return GroupOutcome(*sessions.leave(group, members, answer, now, self._config))
            unknown = [sessions.left(row, ErrorCode.UNKNOWN_MEMBER_ID) for row in members]
            return GroupOutcome(None, [Reply(answer, {"members": unknown})])

        self._run(group_id, machine, answer)

    def _run(self, group_id: str, machine: Machine, answer: OnAnswer) -> None:
        if group_id:
            self._driver.run(group_id, machine, answer)
        else:
            answer({"errorCode": ErrorCode.INVALID_GROUP_ID})


def _unknown(answer: OnAnswer) -> GroupOutcome:
    return GroupOutcome(None, [Reply(answer, {"errorCode": ErrorCode.UNKNOWN_MEMBER_ID})])
