"""A request as its handler sees it, and the forms that an answer may have."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from octavo.format.messages.schema import Row


class Endpoint(NamedTuple):
    """Where clients of a listener reach the broker."""

    host: str
    port: int


class Peer(NamedTuple):
    """Who is at the other end of a connection, and how it got there."""

    host: str
    endpoint: Endpoint


class Request(NamedTuple):
    """A decoded request. Its records are views into the connection's buffer: its handler consumes them."""

    version: int
    client_id: str
    body: Row
    peer: Peer


class Waiting(Protocol):
    """An answer that comes later; the connection takes no other request meanwhile."""

    def start(self, answer: Callable[[Row], None]) -> None:
        """Call `answer` on the loop, once; perhaps at once."""

    def cancel(self) -> None:
        """The connection is gone: answer nothing."""


class Later(NamedTuple):
    """An answer that takes a disk's time: it is made on another thread."""

    make: Callable[[], Row]


class NoAnswer:
    """The client does not wait for one (acks=0)."""


Answer = Row | Waiting | Later | NoAnswer


class CloseConnection(Exception):
    """What a client sent cannot be answered, as Kafka sees it: its connection is closed."""
