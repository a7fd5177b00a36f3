"""Runs the state machines of groups: requests and timers are their events, and their effects are carried out here."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from functools import partial
from typing import cast

from octavo.config import BrokerConfig
from octavo.coordinator.effects import CancelTimer, Effect, Moment, Reply, SetTimer, Write
from octavo.coordinator.groups.classic import sessions
from octavo.coordinator.groups.classic.group import ClassicGroup
from octavo.coordinator.groups.configs import GroupConfigs
from octavo.coordinator.groups.consumer import leave
from octavo.coordinator.groups.consumer.group import ConsumerGroup
from octavo.coordinator.groups.consumer.topics import GroupTopics, OpenTopics
from octavo.coordinator.groups.consumer.transition import View
from octavo.coordinator.groups.kinds import Group, GroupOutcome
from octavo.coordinator.groups.migration.downgrade import downgraded
from octavo.coordinator.groups.partition import GroupPartition
from octavo.coordinator.groups.store import GroupStore, failure_code
from octavo.coordinator.timers import Timers
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row
from octavo.storage.log_manager import LogManager

_RETRY_MS = 1000
_log = logging.getLogger(__name__)

OnAnswer = Callable[[Row], None]  # called once, on any thread, with the row of the response
Machine = Callable[[Group | None, Moment], GroupOutcome]


class GroupDriver:
    """Thread-safe. Answers are given through callbacks: perhaps at once, never under a lock."""

    def __init__(self, store: GroupStore, log_manager: LogManager, configs: GroupConfigs) -> None:
        environment = log_manager.environment
        self._store = store
        self._clock = environment.clock
        self._log_manager = log_manager
        self._configs = configs
        self._topics = OpenTopics(log_manager)
        self._timers = Timers(environment.scheduler, self._clock, self._check_timers)
        store.on_load = self._loaded

    @property
    def config(self) -> BrokerConfig:
        """The broker's configs as they are now."""
        return self._log_manager.broker_config

    @property
    def topics(self) -> GroupTopics:
        """The topics as they are now."""
        return self._topics.current

    def view(self, group_id: str, now: Moment) -> View:
        """What a consumer group depends on at this moment."""
        return View(now, self.topics, self._configs.broker_config(group_id))

    def run(self, group_id: str, machine: Machine, answer: OnAnswer, *, create: bool = False) -> None:
        """Handle an event. If its records cannot be written, the group stays as it was, and the request fails."""
        try:
            with self._store.using(group_id, create=create) as partition:
                replies = self._handle(partition, group_id, machine)
        except (OctavoError, OSError) as error:
            _log.error("a request about group %s failed: %s", group_id, error)
            answer({"errorCode": failure_code(error)})
            return
        _send(replies)

    def set_timer(self, group_id: str, timer: Hashable, delay_ms: int) -> None:
        """Set a timer of a group, or move it. The caller holds the store's lock."""
        self._timers.set((group_id, timer), self._clock.monotonic_ms() + delay_ms)

    def _handle(self, partition: GroupPartition, group_id: str, machine: Machine) -> list[Reply]:
        before, now = partition.groups.get(group_id), Moment.of(self._clock)
        group, effects = machine(before, now)
        if isinstance(before, ConsumerGroup):
            group, effects = downgraded(before, (group, effects), self.view(group_id, now))
        writes = [effect for effect in effects if isinstance(effect, Write)]
        if writes:
            self._store.append(partition, writes)
        partition.adopt(group_id, group)
        if group is None and partition.offsets.of(group_id):
            partition.add_simple_groups([group_id])
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
            if isinstance(group, ClassicGroup):
                loaded = sessions.loaded(group, now, self.config)
                partition.adopt(group_id, loaded.group)
                self._carry_out(group_id, loaded.effects)
            else:
                self._carry_out(group_id, leave.loaded(group, self.view(group_id, now)))

    def check_timers(self) -> None:
        """Handle the timers that are due, if the scheduler has not done so yet."""
        with self._store.lock:
            is_due = self._timers.is_due
        if is_due:
            self._check_timers()

    def _check_timers(self) -> None:
        """Handle all timers that are due. Runs on a thread of the scheduler, or in `check_timers`."""
        replies: list[Reply] = []
        with self._store.lock:
            while (due := self._timers.next_due()) is not None:
                group_id, timer = cast(tuple[str, Hashable], due)
                try:
                    with self._store.using(group_id) as partition:
                        replies += self._handle(partition, group_id, partial(self._expired, timer))
                except (OctavoError, OSError) as error:
                    _log.error("a timer of group %s failed, and will be tried again: %s", group_id, error)
                    self._timers.set(due, self._clock.monotonic_ms() + _RETRY_MS)
        _send(replies)

    def _expired(self, timer: Hashable, group: Group | None, now: Moment) -> GroupOutcome:
        if group is None:
            return None, []
        if isinstance(group, ClassicGroup):
            return sessions.expired(group, timer, now, self.config)
        return leave.expired(group, timer, self.view(group.group_id, now))


def _send(replies: list[Reply]) -> None:
    for reply in replies:
        cast(OnAnswer, reply.token)(reply.answer)
