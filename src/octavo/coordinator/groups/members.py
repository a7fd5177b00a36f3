"""Membership of groups: requests and timers become events of the groups' machines, whose effects happen here."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from functools import partial
from typing import cast

from octavo.coordinator.effects import CancelTimer, Effect, Reply, SetTimer, Write
from octavo.coordinator.groups.classic import expiry, sessions, sync
from octavo.coordinator.groups.classic.config import ClassicConfig
from octavo.coordinator.groups.classic.group import ClassicOutcome
from octavo.coordinator.groups.classic.join import Caller, JoinRequest, join
from octavo.coordinator.groups.partition import Group, GroupPartition
from octavo.coordinator.groups.store import GroupStore, failure_code
from octavo.coordinator.moment import Moment
from octavo.coordinator.timers import Timers
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode
from octavo.storage.environment import Environment

_RETRY_MS = 1000
_log = logging.getLogger(__name__)

OnAnswer = Callable[[Row], None]  # called once, on any thread, with the row of the response
Machine = Callable[[Group | None, Moment], ClassicOutcome]


class GroupMembers:
    """Thread-safe. A request is answered through its callback: perhaps at once, never under a lock."""

    def __init__(self, store: GroupStore, environment: Environment, config: ClassicConfig) -> None:
        self._store = store
        self._clock = environment.clock
        self._config = config
        self._timers = Timers(environment.scheduler, self._clock, "group-timers", self._check_timers)
        store.on_load = self._loaded

    def join(self, body: Row, caller: Caller, answer: OnAnswer) -> None:
        """A JoinGroup request."""
        request = JoinRequest(body, caller, answer, self._config)
        self._run(body["groupId"], lambda group, now: join(group, request, now), answer, create=bool(body["groupId"]))

    def sync(self, body: Row, answer: OnAnswer) -> None:
        """A SyncGroup request."""

        def machine(group: Group | None, now: Moment) -> ClassicOutcome:
            return _unknown(answer) if group is None else sync.sync(group, body, answer, now)

        self._run_named(body["groupId"], machine, answer)

    def heartbeat(self, body: Row, answer: OnAnswer) -> None:
        """A Heartbeat request."""

        def machine(group: Group | None, now: Moment) -> ClassicOutcome:
            return _unknown(answer) if group is None else sessions.heartbeat(group, body, answer, now)

        self._run_named(body["groupId"], machine, answer)

    def leave(self, group_id: str, members: list[Row], answer: OnAnswer) -> None:
        """A LeaveGroup request."""

        def machine(group: Group | None, now: Moment) -> ClassicOutcome:
            if group is not None:
                return sessions.leave(group, members, answer, now, self._config)
            unknown = [sessions.left(row, ErrorCode.UNKNOWN_MEMBER_ID) for row in members]
            return ClassicOutcome(None, [Reply(answer, {"members": unknown})])

        self._run_named(group_id, machine, answer)

    def renew(self, group_id: str, timer: Hashable, timeout_ms: int) -> None:
        """Renew a session, since its member was heard of. The store's lock is held."""
        self._timers.set((group_id, timer), self._clock.monotonic_ms() + timeout_ms)

    def _run_named(self, group_id: str, machine: Machine, answer: OnAnswer) -> None:
        if group_id:
            self._run(group_id, machine, answer)
        else:
            answer({"errorCode": ErrorCode.INVALID_GROUP_ID})

    def _run(self, group_id: str, machine: Machine, answer: OnAnswer, *, create: bool = False) -> None:
        """Let an event happen. If its records cannot be written, nothing has happened, and the request fails."""
        try:
            with self._store.using(group_id, create=create) as partition:
                replies = self._happen(partition, group_id, machine)
        except (OctavoError, OSError) as error:
            _log.error("group %s: %s", group_id, error)
            answer({"errorCode": failure_code(error)})
            return
        _send(replies)

    def _happen(self, partition: GroupPartition, group_id: str, machine: Machine) -> list[Reply]:
        group, effects = machine(partition.groups.get(group_id), Moment.of(self._clock))
        writes = [effect for effect in effects if isinstance(effect, Write)]
        if writes:
            self._store.append(partition, writes)
        partition.adopt(group_id, group)
        return self._carry_out(group_id, effects)

    def _carry_out(self, group_id: str, effects: list[Effect]) -> list[Reply]:
        replies = []
        for effect in effects:
            if isinstance(effect, SetTimer):
                self._timers.set((group_id, effect.name), effect.at_ms)
            elif isinstance(effect, Reply):
                replies.append(effect)
            elif isinstance(effect, CancelTimer):
                self._timers.cancel((group_id, effect.name))
        return replies

    def _loaded(self, partition: GroupPartition) -> None:
        now = Moment.of(self._clock)
        for group_id, group in list(partition.groups.items()):
            outcome = expiry.loaded(group, now, self._config)
            partition.adopt(group_id, outcome.group)
            self._carry_out(group_id, outcome.effects)

    def _check_timers(self) -> None:
        """Let the events of all timers happen that have passed. Runs on a thread of the scheduler."""
        replies: list[Reply] = []
        with self._store.lock:
            while (due := self._timers.next_due()) is not None:
                group_id, timer = cast(tuple[str, Hashable], due)
                try:
                    with self._store.using(group_id) as partition:
                        replies += self._happen(partition, group_id, partial(self._expired, timer))
                except (OctavoError, OSError) as error:
                    _log.error("group %s: %s", group_id, error)
                    self._timers.set(due, self._clock.monotonic_ms() + _RETRY_MS)
        _send(replies)

    def _expired(self, timer: Hashable, group: Group | None, now: Moment) -> ClassicOutcome:
        return ClassicOutcome(None, []) if group is None else expiry.expired(group, timer, now, self._config)


def _unknown(answer: OnAnswer) -> ClassicOutcome:
    return ClassicOutcome(None, [Reply(answer, {"errorCode": ErrorCode.UNKNOWN_MEMBER_ID})])


def _send(replies: list[Reply]) -> None:
    for reply in replies:
        cast(OnAnswer, reply.token)(reply.answer)
