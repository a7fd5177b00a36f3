"""What a fault does to a request that it hits."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from octavo.broker.dispatch import OnParts, Pending
from octavo.broker.request import CloseConnection
from octavo.errors import OctavoError
from octavo.format.messages.codec import Part
from octavo.format.protocol.apis import PRODUCE
from octavo.format.protocol.frames import wire_format
from octavo.testing.asked import Asked
from octavo.testing.refusals import refusal

_Answer = list[Part] | Pending | None


class Action(Protocol):
    def answer(self, asked: Asked) -> _Answer:
        """The response that the client gets; raises CloseConnection to close the connection instead."""
        ...


class Fail(NamedTuple):
    code: int
    name: str

    def __str__(self) -> str:
        return self.name

    def answer(self, asked: Asked) -> _Answer:
        if asked.api is PRODUCE and asked.body["acks"] == 0:
            raise CloseConnection(f"a fault: {self}")  # the only way to tell the client
        wire = wire_format(asked.api, asked.header.api_version)
        return wire.response_parts(asked.header.correlation_id, refusal(asked, self.code))


class Drop(NamedTuple):
    def __str__(self) -> str:
        return "a dropped connection"

    def answer(self, asked: Asked) -> _Answer:
        raise CloseConnection(f"a fault: {self}")


class LoseAnswer(NamedTuple):
    def __str__(self) -> str:
        return "a lost answer"

    def answer(self, asked: Asked) -> _Answer:
        found = asked.answer()
        if isinstance(found, Pending):
            return _Lost(found)
        raise CloseConnection(f"a fault: {self}")


class Delay(NamedTuple):
    seconds: float

    def __str__(self) -> str:
        return f"a delay of {self.seconds:g} s"

    def answer(self, asked: Asked) -> _Answer:
        return _Delayed(asked, self.seconds)


class _Lost(Pending):
    """Handles the request, and closes the connection instead of answering."""

    def __init__(self, inner: Pending) -> None:
        self._inner = inner

    def start(self, on_parts: OnParts) -> None:
        self._inner.start(lambda _: on_parts(None))

    def cancel(self) -> None:
        self._inner.cancel()


class _Delayed(Pending):
    """Handles the request after a while."""

    def __init__(self, asked: Asked, seconds: float) -> None:
        self._asked = asked
        self._seconds = seconds
        self._cancel: Callable[[], None] = lambda: None

    def start(self, on_parts: OnParts) -> None:
        self._on_parts = on_parts
        self._cancel = self._asked.context.loop.call_later(self._seconds, self._resume).cancel

    def cancel(self) -> None:
        self._cancel()

    def _resume(self) -> None:
        try:
            found = self._asked.answer()
        except (CloseConnection, OctavoError, OSError):
            self._on_parts(None)
            return
        if isinstance(found, Pending):
            self._cancel = found.cancel
            found.start(self._on_parts)
        else:
            self._on_parts(found or [])
