"""Requests of the members of consumer groups, from the network and from this process."""

from __future__ import annotations

from functools import partial

from octavo.coordinator.effects import Moment, Reply
from octavo.coordinator.errors import RequestError
from octavo.coordinator.groups.classic.group import ClassicGroup
from octavo.coordinator.groups.consumer.describe import describe
from octavo.coordinator.groups.consumer.group import ConsumerGroup, ConsumerOutcome
from octavo.coordinator.groups.consumer.heartbeat import heartbeat
from octavo.coordinator.groups.consumer.leave import remove
from octavo.coordinator.groups.consumer.request import Heartbeat, check
from octavo.coordinator.groups.consumer.topics import GroupTopics
from octavo.coordinator.groups.consumer.transition import SESSION, Transition, View
from octavo.coordinator.groups.driver import GroupDriver, OnAnswer
from octavo.coordinator.groups.kinds import Group, GroupOutcome, is_empty, removal
from octavo.coordinator.groups.migration.upgrade import upgrade
from octavo.coordinator.groups.store import GroupStore
from octavo.errors import IllegalStateError
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode
from octavo.system.clock import Clock

_HOST = "/127.0.0.1"


class GroupConsumers:
    """Thread-safe."""

    def __init__(self, store: GroupStore, driver: GroupDriver, clock: Clock) -> None:
        self._store = store
        self._driver = driver
        self._clock = clock

    @property
    def topics(self) -> GroupTopics:
        """The topics as they are now."""
        return self._driver.topics

    def heartbeat(self, request: Heartbeat, answer: OnAnswer) -> None:
        """A ConsumerGroupHeartbeat request; its token is the callback for its answer."""
        group_id = request.body["groupId"]
        machine = partial(self._heartbeat, request)
        self._driver.run(group_id, machine, answer, create=request.epoch == 0 and bool(group_id))

    def poll(self, body: Row, session_timeout_ms: int, has_joined: bool) -> ConsumerGroup | None:
        """A heartbeat of a member in this process, in the epoch that the group knows; its first one joins the group.

        Returns the group afterwards; None if the member has been removed since it joined.
        """
        group_id, answers, found = body["groupId"], list[Row](), list[Group | None]()

        def machine(group: Group | None, now: Moment) -> GroupOutcome:
            member = group.members.get(body["memberId"]) if isinstance(group, ConsumerGroup) else None
            if member is None and has_joined:
                return group, []
            epoch, owned = (0, []) if member is None else (member.member_epoch, body["topicPartitions"])
            filled = {**body, "memberEpoch": epoch, "topicPartitions": owned}
            request = Heartbeat(filled, 1, "", _HOST, answers.append, session_timeout_ms=session_timeout_ms)
            outcome = self._heartbeat(request, group, now)
            found.append(outcome[0])
            return outcome

        self._driver.run(group_id, machine, answers.append)
        if answers and (code := answers[0].get("errorCode")):
            raise IllegalStateError(f"group {group_id}: {answers[0].get('errorMessage') or ErrorCode(code).name}")
        return found[0] if found and isinstance(found[0], ConsumerGroup) else None

    def renew(self, seen: ConsumerGroup, member_id: str) -> bool:
        """Whether the group and its topics are the same as at the last poll; if so, the member's session is renewed."""
        group_id, timeout_ms = seen.group_id, seen.members[member_id].session_timeout_ms
        with self._store.using(group_id) as partition:
            if partition.groups.get(group_id) is not seen or seen.hashed_topics is not self.topics:
                return False
            assert timeout_ms is not None, "a member in this process has one"
            self._driver.set_timer(group_id, (SESSION, member_id), timeout_ms)
            return True

    def remove(self, group_id: str, member_id: str) -> None:
        """Remove a member in this process, if it is in its group."""

        def machine(group: Group | None, now: Moment) -> GroupOutcome:
            if not isinstance(group, ConsumerGroup) or member_id not in group.members:
                return group, []
            change = Transition(group, self._driver.view(group_id, now))
            remove(change, group.members[member_id])
            return change.outcome

        self._driver.run(group_id, machine, lambda answer: None)

    def member_epoch(self, group_id: str, member_id: str) -> int | None:
        """The epoch of a member; None if it is not in the group."""
        with self._store.using(group_id) as partition:
            group = partition.groups.get(group_id)
            member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
            return None if member is None else member.member_epoch

    def check_timers(self) -> None:
        """Handle the timers that are due, if no thread has done so yet."""
        self._driver.check_timers()

    def _heartbeat(self, request: Heartbeat, group: Group | None, now: Moment) -> GroupOutcome:
        """A classic group becomes a consumer group when a member joins with this request."""
        view = self._driver.view(request.body["groupId"], now)
        if not isinstance(group, ClassicGroup):
            return heartbeat(group, request, view)
        try:
            check(request, view.config)
            if request.epoch:
                raise RequestError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group.group_id} is not a consumer group.")
            before = _converted(group, request, view)
        except RequestError as error:
            return group, [Reply(request.token, {"errorCode": error.code, "errorMessage": error.problem})]
        outcome = heartbeat(before.group, request, view)
        has_joined = outcome.group is not None and outcome.group is not before.group
        return (outcome.group, [*before.effects, *outcome.effects]) if has_joined else (group, outcome.effects)

    def describe(self, group_id: str) -> Row:
        """A group as ConsumerGroupDescribe shows it; raises RequestError if there is no such consumer group."""
        with self._store.using(group_id) as partition:
            group = partition.groups.get(group_id)
            if isinstance(group, ConsumerGroup):
                view = self._driver.view(group_id, Moment.of(self._clock))
                return describe(group, view.topics, view.config)
            problem = f"Group {group_id} {'not found' if group is None else 'is not a consumer group'}."
            raise RequestError(ErrorCode.GROUP_ID_NOT_FOUND, problem)


def _converted(group: ClassicGroup, request: Heartbeat, view: View) -> ConsumerOutcome:
    """What replaces a classic group: a consumer group with the same members, or None if it has none."""
    if not is_empty(group):
        return upgrade(group, view)
    return ConsumerOutcome(None, [] if request.is_local else [*removal(group)])
