"""`octavo.LogDir`: the store with its clients."""

from __future__ import annotations

import weakref
from collections.abc import Mapping

from octavo.client.producer import Producer
from octavo.client.producer_config import ProducerConfig
from octavo.client.producer_ids import ProducerIds
from octavo.config import Given
from octavo.storage.log_dir import LogDir as StoredLogDir


class LogDir(StoredLogDir):
    """Log directories that this program owns, and its producers and consumers.

    Closing it closes them first: what producers hold is appended.
    """

    _producers: weakref.WeakSet[Producer]
    _producer_ids: ProducerIds

    def producer(self, configs: Mapping[str, Given] | None = None, /, **named: Given | None) -> Producer:
        """A producer: `configs` by Kafka's names, or named with underscores for dots (`linger_ms=5`)."""
        producer = Producer(self, ProducerConfig.of(configs, **named), self._ids())
        self._producers.add(producer)
        return producer

    def close(self) -> None:
        """Close producers and consumers, then stop cleanly."""
        for producer in list(self.__dict__.get("_producers", ())):
            producer.close()
        super().close()

    def _ids(self) -> ProducerIds:
        if "_producer_ids" not in self.__dict__:
            self._producers, self._producer_ids = weakref.WeakSet(), ProducerIds(self)
        return self._producer_ids
