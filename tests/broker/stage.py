"""A stage for plays: actors send the same requests to a real Kafka and to ours, and the answers are compared.

Some requests wait for those of other actors (JoinGroup, SyncGroup). So every actor has its own connection to each
broker, and after each event the stage waits until both brokers have answered the same actors.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from octavo.format.messages.schema import Row
from octavo.format.protocol.apis import Api
from tests.broker.raw import RawClient

QUIET_SECONDS = 0.1
_MOST_SECONDS = 15.0

Memory = dict[str, Any]
"""What one broker has said to the actors: ids, generations, epochs, by a name that is the same for both brokers."""


@dataclass(frozen=True)
class Ask:
    """A request: its body is made from what the broker has said so far, and its answer may add to that."""

    actor: str
    api: Api
    version: int
    body: Callable[[Memory], Row]
    learn: Callable[[Memory, Row], None] = lambda memory, answer: None
    may_wait: bool = False
    again: Callable[[Row], bool] = lambda answer: False  # whether it is too early for the answer: ask again


@dataclass
class _Side:
    """One of the two brokers."""

    address: tuple[str, int]
    show: Callable[[Memory, Any], Any]
    memory: Memory = field(default_factory=dict)
    clients: dict[str, RawClient] = field(default_factory=dict)
    waiting: dict[str, Ask] = field(default_factory=dict)

    def send(self, ask: Ask) -> None:
        if ask.actor not in self.clients:
            self.clients[ask.actor] = RawClient(self.address)
        self.waiting[ask.actor] = ask
        self.clients[ask.actor].send(ask.api, ask.version, ask.body(self.memory))

    def receive(self) -> dict[str, Any]:
        """The answers that have arrived, by actor; None stands for a closed connection."""
        poll = select.poll()  # unlike select(), it accepts descriptors above 1023
        actors = {self.clients[actor].socket.fileno(): actor for actor in self.waiting}
        for descriptor in actors:
            poll.register(descriptor, select.POLLIN)
        answers: dict[str, Any] = {}
        for actor in [actors[descriptor] for descriptor, _ in poll.poll(0)]:
            ask = self.waiting.pop(actor)
            frame = self.clients[actor].receive()
            if frame is None:
                self.clients.pop(actor).socket.close()
                answers[actor] = None
                continue
            answer = self.clients[actor].read(ask.api, ask.version, frame)
            if ask.again(answer):
                self.send(ask)
                continue
            ask.learn(self.memory, answer)
            answers[actor] = answer
        return answers


class Stage:
    """Plays events on both brokers; `show` makes their answers comparable, for example by naming ids."""

    def __init__(
        self, real: tuple[str, int], ours: tuple[str, int], show: Callable[[Memory, Any], Any], **memory: Any
    ) -> None:
        self._sides = _Side(real, show, dict(memory)), _Side(ours, show, dict(memory))
        self._told: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for side in self._sides:
            for client in side.clients.values():
                client.socket.close()

    def is_waiting(self, actor: str) -> bool:
        return any(actor in side.waiting for side in self._sides)

    def play(self, ask: Ask) -> None:
        """Send a request to both, unless its actor still waits for an answer, and compare what both answer."""
        if self.is_waiting(ask.actor):
            return
        self._told.append(f"{ask.actor}: {ask.api.name} v{ask.version} {ask.body(self._sides[1].memory)}")
        for side in self._sides:
            side.send(ask)
        self._compare(needs_answer=None if ask.may_wait else ask.actor)

    def _compare(self, needs_answer: str | None) -> None:
        answers: tuple[dict[str, Any], dict[str, Any]] = {}, {}
        end, quiet_since = time.monotonic() + _MOST_SECONDS, time.monotonic()
        while time.monotonic() < end:
            came = False
            for side, known in zip(self._sides, answers, strict=True):
                new = side.receive() if side.waiting else {}
                came = came or bool(new)
                known.update(new)
            now = time.monotonic()
            quiet_since = now if came else quiet_since
            is_same = answers[0].keys() == answers[1].keys()
            if is_same and needs_answer is not None and needs_answer in answers[0] and not self._anybody_waits():
                break
            if is_same and (needs_answer is None or needs_answer in answers[0]) and now - quiet_since > QUIET_SECONDS:
                break
            time.sleep(0.001)
        # Shown only now: one answer may name a member that learns its id from another one.
        real, ours = (
            {actor: side.show(side.memory, answer) for actor, answer in known.items()}
            for side, known in zip(self._sides, answers, strict=True)
        )
        told = "\n".join(self._told)
        assert ours == real, f"{told}\nreal {real}\nours {ours}"
        self._told.append(f"    {ours}")

    def _anybody_waits(self) -> bool:
        return any(side.waiting for side in self._sides)
