"""Faults that a test injects: errors instead of answers, lost connections, delays."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Self

from octavo.client.log_dir import LogDir
from octavo.errors import did_you_mean
from octavo.format.protocol.apis import APIS
from octavo.system.signals import Signal
from octavo.testing.actions import Action, Delay, Drop, Fail, LoseAnswer
from octavo.testing.asked import Asked
from octavo.testing.error_names import CODES, code_of
from octavo.testing.groups import described_groups

_API_NAMES = sorted(api.name for api in APIS.values())


class RequestFault:
    """Hits the next requests of a kind; `hits` counts them. Used in a `with` statement, it ends with the block."""

    def __init__(self, action: Action, matches: Callable[[Asked], bool], times: int | None) -> None:
        self.action = action
        self.hits = 0
        self._matches = matches
        self._times = times
        self._changed = Signal()

    @property
    def is_over(self) -> bool:
        """Whether it hits no more requests."""
        return self._times is not None and self.hits >= self._times

    def wait(self, hits: int = 1, timeout: float = 10) -> None:
        """Wait until it has hit this many requests; raises TimeoutError after `timeout` seconds, or if it ends
        first."""
        self._changed.wait(lambda: self.is_over or self.hits >= hits, timeout)
        if self.hits < hits:
            when = "and is over" if self.is_over else f"after {timeout} s"
            raise TimeoutError(f"{self.action} has hit {self.hits} of {hits} expected requests {when}")

    def end(self) -> None:
        """Hit nothing more."""
        self._times = self.hits
        self._changed.notify()

    def try_hit(self, asked: Asked) -> bool:
        """Hit this request if it matches; returns whether it did. Called on the loop's thread only."""
        if self.is_over or not self._matches(asked):
            return False
        self.hits += 1
        self._changed.notify()
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


class Faults:
    """What goes wrong next.

        kafka.faults.fail("Produce", "NOT_LEADER_OR_FOLLOWER", topic="orders")
        kafka.faults.drop("Fetch", times=3)
        kafka.faults.lose_answer("Produce")
        with kafka.faults.delay("Metadata", seconds=2, times=None): ...

    Requests are named as in Kafka's protocol, errors as in Kafka's `Errors`. A fault hits the next request, or the next
    `times` requests, or all (None) until it ends; with `topic`, `group` or `client_id` only those that name the topic
    or group, or come from the client. `fail`, `drop`, `lose_answer` and `delay` return the `RequestFault`, which counts
    its hits. The oldest fault that matches a request hits it.
    """

    def __init__(self, logs: LogDir) -> None:
        self._logs = logs
        self._faults: list[RequestFault] = []  # changed by tests and by the loop, in single steps

    def fail(
        self, api: str, error: str | int, *, topic: str | None = None, group: str | None = None,
        client_id: str | None = None, times: int | None = 1,
    ) -> RequestFault:  # fmt: skip
        """Answer with an error, without handling the request. All that the request names fails, not only the topic."""
        code = code_of(error)
        name = next(name for name, number in CODES.items() if number == code)
        return self._add(Fail(code, name), api, topic, group, client_id, times)

    def drop(
        self, api: str, *, topic: str | None = None, group: str | None = None,
        client_id: str | None = None, times: int | None = 1,
    ) -> RequestFault:  # fmt: skip
        """Close the connection, without handling the request: the request is lost."""
        return self._add(Drop(), api, topic, group, client_id, times)

    def lose_answer(
        self, api: str, *, topic: str | None = None, group: str | None = None,
        client_id: str | None = None, times: int | None = 1,
    ) -> RequestFault:  # fmt: skip
        """Do what the request asks for, then close the connection: the client cannot know that it was done."""
        return self._add(LoseAnswer(), api, topic, group, client_id, times)

    def delay(
        self, api: str, seconds: float, *, topic: str | None = None, group: str | None = None,
        client_id: str | None = None, times: int | None = 1,
    ) -> RequestFault:  # fmt: skip
        """Handle the request this much later by the broker's clock; `kafka.clock.advance` shortens the wait."""
        return self._add(Delay(seconds), api, topic, group, client_id, times)

    def kick(self, group: str, member_id: str | None = None) -> int:
        """Remove a member from a group, or all of them, as an administrator can; returns how many were removed.

        A client that is still running joins again.
        """
        known = described_groups(list(self._logs.paths)).get(group)
        gone = [
            {"memberId": member.member_id, "groupInstanceId": None}
            for member in (known.members if known else ())
            if member_id in (None, member.member_id)
        ]
        if gone:
            self._logs.group_coordinator.members.leave(group, gone, lambda _: None)
        return len(gone)

    def fence(self, transactional_id: str) -> None:
        """Take over a transactional id, as a second producer would: the first is fenced, its transaction aborted."""
        self._logs.producer(transactional_id=transactional_id).close()

    def clear(self) -> None:
        """End all faults."""
        for fault in self._faults:
            fault.end()
        self._faults.clear()

    @property
    def is_empty(self) -> bool:
        return not self._faults

    def hitting(self, asked: Asked) -> RequestFault | None:
        """The fault that hits a request; called on the loop's thread only."""
        for fault in tuple(self._faults):
            if fault.try_hit(asked):
                return fault
            if fault.is_over:
                with suppress(ValueError):  # cleared meanwhile
                    self._faults.remove(fault)
        return None

    def _add(
        self, action: Action, api: str, topic: str | None, group: str | None, client_id: str | None, times: int | None
    ) -> RequestFault:
        if api not in _API_NAMES:
            raise ValueError(f"the broker has no API {api!r}{did_you_mean(api, _API_NAMES)}")

        def matches(asked: Asked) -> bool:
            return (
                asked.api.name == api
                and (client_id is None or asked.header.client_id == client_id)
                and (topic is None or asked.names_topic(topic))
                and (group is None or asked.names(group))
            )

        fault = RequestFault(action, matches, times)
        self._faults.append(fault)
        return fault
