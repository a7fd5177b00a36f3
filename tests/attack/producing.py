"""What all works that send records share: a producer opened when needed, and the report of where its records are."""

from __future__ import annotations

from typing import Any

from octavo.client.producer.future import RecordFuture
from octavo.client.producer.producer import Producer
from tests.attack.scene import PATIENCE_SECONDS, Scene

Sent = list[tuple[str, RecordFuture]]


class Producing:
    """Keeps one producer from step to step, and opens another when that one cannot continue."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._producer: Producer | None = None

    def producer(self) -> Producer:
        if self._producer is None or not self.can_go_on(self._producer):
            self._producer = self._scene.logs.producer(**self.configs())
        return self._producer

    def configs(self) -> dict[str, Any]:
        """The configs of the next producer."""
        return {}

    def can_go_on(self, producer: Producer) -> bool:
        return not producer.is_closed

    def say_sent(self, topic: str, sent: Sent) -> None:
        """Wait until the records are in the log, and report where."""
        places = [(identity, future.result(PATIENCE_SECONDS)) for identity, future in sent]
        self._scene.journal.say(
            "sent", topic, [(place.partition, place.offset, identity) for identity, place in places]
        )
