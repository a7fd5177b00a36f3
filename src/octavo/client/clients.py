"""The producers and consumers of one `LogDir`, and the coordinators they share."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Collection
from typing import Protocol

from octavo.client.consumer.consumer import Consumer
from octavo.client.producer.producer import Producer
from octavo.coordinator.groups.coordinator import GroupCoordinator
from octavo.coordinator.transactions.coordinator import TransactionCoordinator
from octavo.coordinator.transactions.producer_ids import ProducerIds
from octavo.storage.log_manager import LogManager


class Closeable(Protocol):
    """Something that uses a LogDir and has to be closed before it."""

    def close(self) -> None: ...


class Clients:
    """Thread-safe. The transaction coordinator is created and started when first needed, since starting it reads
    `__transaction_state`."""

    def __init__(self, log_manager: LogManager) -> None:
        self._log_manager = log_manager
        self._lock = threading.RLock()
        self._coordinator: TransactionCoordinator | None = None
        self._is_started = False
        self._producers: list[Producer] = []
        self._consumers: weakref.WeakSet[Consumer] = weakref.WeakSet()
        self._users: weakref.WeakSet[Closeable] = weakref.WeakSet()
        self.producer_ids = ProducerIds(log_manager)
        self.group_coordinator = GroupCoordinator(log_manager)
        if log_manager.has_upkeep:
            self.group_coordinator.start_upkeep()

    def transactions(self, *, start: bool) -> TransactionCoordinator:
        """The transaction coordinator; the first call with `start` starts it."""
        with self._lock:
            if self._coordinator is None:
                self._coordinator = TransactionCoordinator(self._log_manager, self.producer_ids)
            if start and not self._is_started:
                self._coordinator.start()
                self._is_started = True
            return self._coordinator

    @property
    def producers(self) -> list[Producer]:
        """The producers, kept at least until they are closed: even one that nobody references may hold records."""
        with self._lock:
            return list(self._producers)

    @property
    def consumers(self) -> list[Consumer]:
        """The consumers that are still referenced."""
        with self._lock:
            return list(self._consumers)

    @property
    def users(self) -> list[Closeable]:
        """Other users of the LogDir that must be closed first, such as a broker."""
        with self._lock:
            return list(self._users)

    def write_held(self, topics: Collection[str] | None = None) -> None:
        """Append what the producers hold back, for some topics or for all."""
        for producer in self.producers:
            producer.write_held(topics)

    def disown(self) -> None:
        """In a forked child: disable every client. Takes no lock, because a thread of the parent may have held it."""
        for producer in self._producers:
            producer.disown()
        for consumer in self._consumers:
            consumer.disown()

    def add_producer(self, producer: Producer) -> None:
        with self._lock:
            self._producers = [*(other for other in self._producers if not other.is_closed), producer]

    def add_user(self, user: Closeable) -> None:
        with self._lock:
            self._users.add(user)

    def add_consumer(self, consumer: Consumer) -> None:
        with self._lock:
            self._consumers.add(consumer)
