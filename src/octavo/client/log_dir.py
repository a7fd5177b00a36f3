"""`octavo.LogDir`: the store with its clients."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from functools import cached_property

from octavo.client.consumer import Consumer
from octavo.client.consumer_config import ConsumerConfig
from octavo.client.coordinator import TransactionCoordinator
from octavo.client.groups import Groups
from octavo.client.identity import ProducerIdentity
from octavo.client.internal_topics import TRANSACTION_STATE, consumer_offsets, transaction_state
from octavo.client.offsets import OffsetStore
from octavo.client.producer import Producer
from octavo.client.producer_config import ProducerConfig
from octavo.client.producer_ids import ProducerIds
from octavo.client.transaction import ProducerTransaction
from octavo.client.transaction_log import TransactionLog
from octavo.config import Given
from octavo.format.compression import Codec
from octavo.storage.log_dir import LogDir as StoredLogDir


class LogDir(StoredLogDir):
    """Log directories that this program owns, and its producers and consumers.

    Closing it closes them first: what producers hold is appended, what consumers handed out is committed.
    """

    def producer(self, configs: Mapping[str, Given] | None = None, /, **named: Given | None) -> Producer:
        """A producer: `configs` by Kafka's names, or named with underscores for dots (`linger_ms=5`)."""
        config = ProducerConfig.of(configs, **named)
        self._complete_transactions()
        identity = ProducerIdentity(self._producer_ids if config.enable_idempotence else None)
        transaction = None
        if config.transactional_id is not None:
            session = self._coordinator.begin_session(config.transactional_id, config.transaction_timeout_ms)
            transaction = ProducerTransaction(self._coordinator, session, self._offsets, identity)
        producer = Producer(self, config, identity, transaction)
        self._producers[:] = [*(other for other in self._producers if not other.is_closed), producer]
        return producer

    def consumer(
        self,
        topics: str | Iterable[str] = (),
        *,
        group: str | None = None,
        configs: Mapping[str, Given] | None = None,
        **named: Given | None,
    ) -> Consumer:
        """A consumer of topics, in a group if one is named; without topics it waits for `subscribe` or `assign`.

        Configs are given by Kafka's names, or named with underscores for dots (`auto_offset_reset="latest"`).
        """
        config = ConsumerConfig.of(configs, **{"group_id": group, **named})
        self._complete_transactions()
        consumer = Consumer(self, config, self._groups, self._offsets)
        self._consumers.add(consumer)
        if topics:
            consumer.subscribe(topics)
        return consumer

    def close(self) -> None:
        """Close producers and consumers, then stop cleanly."""
        with ExitStack() as stack:  # whatever fails, the directories are unlocked at the end
            stack.callback(super().close)
            if not self._open.is_closed:
                for consumer in list(self._consumers):
                    stack.callback(consumer.close)
                for producer in self._producers:
                    stack.callback(producer.close)

    def _complete_transactions(self) -> None:
        """Finish what a crash or an error interrupted, before anybody reads or writes."""
        if any(name.topic == TRANSACTION_STATE for name in list(self.logs)):
            self._coordinator.settle()

    @cached_property
    def _producers(self) -> list[Producer]:
        """Those that are not closed: they may hold records, whoever has forgotten them."""
        return []

    @cached_property
    def _consumers(self) -> weakref.WeakSet[Consumer]:
        """Those that somebody still has: one that is forgotten closes itself."""
        return weakref.WeakSet()

    @cached_property
    def _producer_ids(self) -> ProducerIds:
        return ProducerIds(self)

    @cached_property
    def _coordinator(self) -> TransactionCoordinator:
        log = TransactionLog(transaction_state(self), self.environment.clock)
        return TransactionCoordinator(self, log, self._producer_ids, self._offsets.forget)

    @cached_property
    def _groups(self) -> Groups:
        return Groups()

    @cached_property
    def _offsets(self) -> OffsetStore:
        codec = Codec(self.broker_config.offsets_topic_compression_codec)
        return OffsetStore(consumer_offsets(self), self.environment.clock, codec)
