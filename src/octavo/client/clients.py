"""What the producers and consumers of one `LogDir` share, and who they are."""

from __future__ import annotations

import threading
import weakref

from octavo.client.consumer.consumer import Consumer
from octavo.client.producer.producer import Producer
from octavo.coordinator.groups.groups import Groups
from octavo.coordinator.groups.offsets import OffsetStore
from octavo.coordinator.internal_topics import consumer_offsets, transaction_state
from octavo.coordinator.transactions.coordinator import TransactionCoordinator
from octavo.coordinator.transactions.log import TransactionLog
from octavo.coordinator.transactions.producer_ids import ProducerIds
from octavo.format.compression import Codec
from octavo.storage.log_manager import LogManager


class Clients:
    """Thread-safe. The coordinator is made when it is first needed, once: it reads `__transaction_state`."""

    def __init__(self, logs: LogManager) -> None:
        self._logs = logs
        self._lock = threading.RLock()
        self._coordinator: TransactionCoordinator | None = None
        self._producers: list[Producer] = []
        self._consumers: weakref.WeakSet[Consumer] = weakref.WeakSet()
        self.producer_ids = ProducerIds(logs)
        self.groups = Groups()
        codec = Codec(logs.broker_config.offsets_topic_compression_codec)
        self.offsets = OffsetStore(consumer_offsets(logs), logs.environment.clock, codec)

    @property
    def coordinator(self) -> TransactionCoordinator:
        with self._lock:
            if self._coordinator is None:
                log = TransactionLog(transaction_state(self._logs), self._logs.environment.clock)
                self._coordinator = TransactionCoordinator(self._logs, log, self.producer_ids, self.offsets.forget)
            return self._coordinator

    @property
    def producers(self) -> list[Producer]:
        """Those that are not closed: they may hold records, whoever has forgotten them."""
        with self._lock:
            return list(self._producers)

    @property
    def consumers(self) -> list[Consumer]:
        """Those that somebody still has."""
        with self._lock:
            return list(self._consumers)

    def disown(self) -> None:
        """In a forked child: let every client refuse. No lock is taken: a thread of the parent's may have held it."""
        for producer in self._producers:
            producer.disown()
        for consumer in self._consumers:
            consumer.disown()

    def add_producer(self, producer: Producer) -> None:
        with self._lock:
            self._producers = [*(other for other in self._producers if not other.is_closed), producer]

    def add_consumer(self, consumer: Consumer) -> None:
        with self._lock:
            self._consumers.add(consumer)
