"""A request as faults see it, before it is handled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from octavo.broker.context import Context
from octavo.broker.dispatch import Pending
from octavo.broker.network.connection import Connection
from octavo.format.messages.codec import Part
from octavo.format.messages.schema import Row
from octavo.format.protocol.apis import FETCH, Api
from octavo.format.protocol.frames import RequestHeader


class Asked(NamedTuple):
    """A decoded request; `answer` has the broker handle it, at once or later."""

    api: Api
    header: RequestHeader
    body: Row
    connection: Connection
    context: Context
    answer: Callable[[], list[Part] | Pending | None]

    def names(self, *wanted: str | bytes) -> bool:
        """Whether one of these names or ids occurs in the request."""
        return _has(self.body, wanted)

    def names_topic(self, topic: str) -> bool:
        """Whether the request is about a topic: by name, by id, or through the session that a fetch continues."""
        known = self.context.catalog.topics.get(topic)
        wanted = (topic,) if known is None else (topic, known.topic_id)
        if self.api is FETCH:
            session = self.context.sessions.find(self.body["sessionId"])
            if session is not None and any(key in wanted for key, _ in session.partitions):
                return True
        return self.names(*wanted)


def _has(value: Any, wanted: tuple[str | bytes, ...]) -> bool:
    if isinstance(value, dict):
        return any(_has(part, wanted) for part in value.values())
    if isinstance(value, list):
        return any(_has(part, wanted) for part in value)
    return isinstance(value, str | bytes) and value in wanted
