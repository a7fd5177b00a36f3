"""`octavo.LogDir`: log directories with producers and consumers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from octavo.client.clients import Clients, Closeable
from octavo.client.consumer.config import ConsumerConfig
from octavo.client.consumer.consumer import Consumer
from octavo.client.consumer.deserializers import Deserializer, deserializing
from octavo.client.producer.config import ProducerConfig
from octavo.client.producer.parts import ProducerIdentity
from octavo.client.producer.producer import Producer, Serializer, Serializers
from octavo.client.producer.transaction import ProducerTransaction
from octavo.config import Given
from octavo.coordinator.groups.coordinator import GroupCoordinator
from octavo.coordinator.internal_topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from octavo.coordinator.transactions.coordinator import TransactionCoordinator
from octavo.coordinator.transactions.producer_ids import ProducerIds
from octavo.coordinator.transactions.session import Session
from octavo.errors import IllegalStateError, KafkaStorageError
from octavo.storage.directory.open_logs import OpenLogs
from octavo.storage.log_manager import LogManager
from octavo.system.forks import FORKED
from octavo.system.held_records import on_read
from octavo.system.shown import count, size, some, table

if TYPE_CHECKING:
    from octavo import Broker


class LogDir(LogManager):
    """Log directories that this program owns, with its producers and consumers.

        with octavo.LogDir("logs") as logs:
            logs.create_topic("orders", partitions=3)
            logs.producer().send("orders", b"a coffee")
            for record in logs.consumer("orders"):
                print(record.value)

    Opening takes the lock, recovers what was not closed cleanly (`recovery` lists the cuts), and applies no retention.
    Closing closes the clients first: producers append the records they hold or abort their open transaction, and
    consumers whose commits are automatic commit their positions.

    Args:
        paths: one log directory or several, such as the disks of one broker.
        configs: broker configs by Kafka's names. They override those in the directory's metadata and give topics their
            defaults: `{"num.partitions": 3, "offsets.topic.num.partitions": 1}`.
        topic_configs: configs by topic, which override the stored ones as long as this object lives.
        environment: clock, scheduler and file system; for tests.
        only: the partitions to open, or topics with all their partitions; the others stay untouched.
        create: create a missing directory at once (True), with the first topic (None), or refuse it (False).
        upkeep: do a broker's upkeep in the background: retention, cleaning, removal of what is marked as deleted.
        background: run delayed work on threads; otherwise it is done at the close.
        skip_unreadable: leave partitions that cannot be loaded untouched and list them in `unreadable`.
        check_all: check every batch, even if the directory was closed cleanly.
        progress: called with a partition and the number of bytes that recovery has read since the last call.
        on_loss: called before recovery cuts bytes off a log file, with its path, and where these bytes begin and end.
    """

    _is_disowned = False

    def __repr__(self) -> str:
        opened: OpenLogs | None = getattr(self, "_open", None)
        if opened is None or opened.is_closed:
            return f"<LogDir {some(self.paths)}: closed>"
        logs = dict(self.logs)
        topics = count(len({topic_partition.topic for topic_partition in logs}), "topic")
        held = f"{topics}, {count(len(logs), 'partition')}, {size(sum(log.size for log in logs.values()))}"
        return f"<LogDir {some(self.paths)}: {held}{', some directories are offline' if self.offline else ''}>"

    def _repr_html_(self) -> str:
        rows = []
        for topic, numbers in {} if self._open.is_closed else self.topics.items():
            logs = [self.log(topic, number) for number in numbers]
            offsets = sum(log.log_end_offset - log.log_start_offset for log in logs)
            rows.append([topic, len(numbers), offsets, size(sum(log.size for log in logs))])
        return table(repr(self), ["topic", "partitions", "offsets", "size"], rows)

    @property
    def paths(self) -> list[Path]:
        """The directories, as `octavo.scan` accepts them."""
        return [root.path for root in getattr(self, "roots", ())]

    def producer(
        self,
        configs: Mapping[str, Given] | None = None,
        *,
        key_serializer: Serializer | None = None,
        value_serializer: Serializer | None = None,
        **named: Given | None,
    ) -> Producer:
        """A producer.

            logs.producer(linger_ms=5, compression_type="zstd", value_serializer=json.dumps)
            logs.producer({"linger.ms": 5, "compression.type": "zstd"})

        `configs` has Kafka's names; the same configs can be given by keyword, with underscores for dots. Serializers
        turn keys and values into bytes or text; None is not passed to them, but becomes null.
        """
        config = ProducerConfig.of(configs, **named)
        self._check_own("producer")
        self._complete_transactions()
        clients = self._clients
        identity = ProducerIdentity(clients.producer_ids if config.enable_idempotence else None)
        transaction = None
        if config.transactional_id is not None:
            session = Session(self.transactions(), config.transactional_id, config.transaction_timeout_ms)
            transaction = ProducerTransaction(session, clients.group_coordinator.offsets, identity)
        is_serialized = key_serializer is not None or value_serializer is not None
        serializers = Serializers(key_serializer, value_serializer) if is_serialized else None
        producer = Producer(self, config, identity, transaction, serializers)
        clients.add_producer(producer)
        on_read(self)
        return producer

    def consumer(
        self,
        topics: str | Iterable[str] = (),
        *,
        group: str | None = None,
        configs: Mapping[str, Given] | None = None,
        key_deserializer: Deserializer | None = None,
        value_deserializer: Deserializer | None = None,
        **named: Given | None,
    ) -> Consumer:
        """A consumer of topics, in a group if one is named; without topics, call `subscribe` or `assign`.

            for record in logs.consumer("orders", group="billing", value_deserializer=json.loads):
                print(record.offset, record.value)

        `configs` has Kafka's names; the same configs can be given by keyword, with underscores for dots. Deserializers
        turn the bytes of keys and values into the objects that records then have; null stays None.
        """
        if isinstance(topics, Mapping):
            raise TypeError("topics are a mapping, expected names; for configs use configs=")
        config = ConsumerConfig.of(configs, **{"group_id": group, **named})
        self._check_own("consumer")
        self._complete_transactions()
        clients = self._clients
        coordinator = clients.group_coordinator
        decode = deserializing(key_deserializer, value_deserializer)
        consumer = Consumer(self, config, coordinator.local, coordinator.offsets, clients.write_held, decode)
        clients.add_consumer(consumer)
        if topics:
            consumer.subscribe(topics)
        return consumer

    def serve(self, listen: str | None = None, **options: Any) -> Broker:
        """Serve the directories to Kafka's clients over the network, until the broker or this LogDir is closed.

        Listens on a free port of this machine, unless `listen` or the LogDir's config `listeners` names an address; the
        other options are those of `octavo.Broker`, except `configs` and `upkeep`, which the LogDir has. Producers,
        consumers and scans in this program keep working next to it.

            with octavo.LogDir("logs") as logs, logs.serve() as broker:
                print(broker.bootstrap_servers)

        `async with logs.serve() as broker:` works too.
        """
        from octavo import Broker  # a layer above: imported only by a program that serves

        return Broker(self, **options) if listen is None else Broker(self, listen=listen, **options)

    @property
    def producer_ids(self) -> ProducerIds:
        """Allocates the ids of producers."""
        return self._clients.producer_ids

    def transactions(self, *, start: bool = True) -> TransactionCoordinator:
        """The coordinator of all transactional producers; until a call with `start` it finishes and aborts nothing."""
        return self._clients.transactions(start=start)

    @property
    def group_coordinator(self) -> GroupCoordinator:
        """The coordinator of all groups, which knows their members and what they have committed."""
        return self._clients.group_coordinator

    def delete_topics(self, topics: Collection[str]) -> None:
        """Delete topics, and what groups have committed for them.

        Their folders are renamed to `-delete`, and removed after the broker's log.segment.delete.delay.ms.
        """
        before = self.topics
        try:
            super().delete_topics(topics)
        finally:  # if a disk fails, topics on the others are deleted all the same
            after = self.topics
            for topic in topics if CONSUMER_OFFSETS in after else ():
                if topic in before and topic not in after:
                    self.group_coordinator.admin.topic_deleted(topic)

    def close(self, *, discard: bool = False) -> None:
        """Close brokers, producers and consumers, then stop cleanly. After an interrupt it can be called again.

        With `discard` the logs are left as they are, because the directories are about to be removed.
        """
        clients: list[Closeable] = []
        made: Clients | None = self._shared.get(Clients)
        if made is not None and not self._open.is_closed:
            clients += [*made.users, *made.producers, *made.consumers]
        failure: Exception | None = None
        for client in clients:
            try:
                client.close()
            except Exception as error:  # whatever fails, the directories must be unlocked
                failure = failure or error
        super().close(discard=discard)
        if failure is not None:
            raise failure

    def write_held(self) -> None:
        """Append what producers hold back for linger.ms, so that a scan finds it.

        Readers in this process call it; nobody else needs to.
        """
        clients: Clients | None = self._shared.get(Clients)
        if clients is not None and not self._is_disowned:
            clients.write_held()

    def close_first(self, user: Closeable) -> None:
        """Register something that uses this LogDir, such as a broker, to be closed before it."""
        self._clients.add_user(user)

    def disown(self) -> None:
        """In a forked child: refuse every use, including that of producers and consumers."""
        super().disown()
        self._is_disowned = True
        clients: Clients | None = self._shared.get(Clients)
        if clients is not None:
            clients.disown()

    def _check_own(self, what: str) -> None:
        if self._is_disowned:
            raise IllegalStateError(f"cannot create a {what}: {FORKED}")
        if self._open.is_closed:
            raise KafkaStorageError(f"cannot create a {what}: {some(self.paths)} is closed")

    def _complete_transactions(self) -> None:
        """Finish the transactions that a crash or an error interrupted, before anybody reads or writes."""
        if any(topic_partition.topic == TRANSACTION_STATE for topic_partition in list(self.logs)):
            self.transactions().settle()

    @property
    def _clients(self) -> Clients:
        return self.shared(Clients)
