"""A request as its handler sees it, and the kinds of answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import NamedTuple, Protocol, TypeVar

from octavo.broker.security.peer import Peer
from octavo.broker.security.principals import Client
from octavo.format.messages.schema import Row

_Context = TypeVar("_Context")


class Request(NamedTuple):
    """A decoded request. Its records are views into the connection's buffer, valid only until the handler returns."""

    version: int
    client_id: str
    body: Row
    peer: Peer

    @property
    def client(self) -> Client:
        return self.peer.client


class Waiting(Protocol):
    """An answer that comes later; until then the connection handles no other request."""

    def start(self, answer: Callable[[Row], None]) -> None:
        """Call `answer` once, on the loop's thread; perhaps immediately."""

    def cancel(self) -> None:
        """Answer nothing, because the connection is gone."""


class Later(NamedTuple):
    """An answer that may have to wait for a disk, and is therefore made on another thread."""

    make: Callable[[], Row]


def later(make: Callable[[Request, _Context], Row]) -> Callable[[Request, _Context], Later]:
    """A handler whose answers `make` makes on another thread."""

    @wraps(make)
    def handle(request: Request, context: _Context) -> Later:
        return Later(lambda: make(request, context))

    return handle


class NoAnswer:
    """The client expects no answer (acks=0)."""


Answer = Row | Waiting | Later | NoAnswer


class CloseConnection(Exception):
    """The connection has to be closed, because the client's request gets no answer."""
