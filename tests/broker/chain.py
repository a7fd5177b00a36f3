"""A chain under attack: producers → `in` → transactional workers → `out` → a checking group. What each of them saw is
kept, and test_chain_kills.py compares it with the log."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from confluent_kafka import (
    OFFSET_INVALID,
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from tests.broker.librdkafka import Servers

PARTITIONS = 3
ABORTED = b"aborted "
_GROUP, _CHECKERS = "chain", "check"
_SECONDS = 30.0
_IMPATIENT_SECONDS = 5.0  # librdkafka may wait this long for an answer that died with a broker
# When librdkafka has lost all brokers it makes new objects for them ("rebootstrap"), but its cache of coordinators
# keeps the old ones: send_offsets_to_transaction then waits forever, with Kafka's broker as with ours (its issues 5511
# and 5456). Without that strategy it connects again.
_SETTINGS: Servers = {
    "metadata.recovery.strategy": "none",
    "reconnect.backoff.max.ms": 100,
    "retry.backoff.ms": 50,
    "log_level": 0,
}


@dataclass
class Seen:
    """What the clients of a run saw."""

    acknowledged: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    committed: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))  # offsets of the workers' group
    polled: list[list[tuple[int, int, bytes]]] = field(default_factory=list)  # per assignment of a checker
    failures: list[BaseException] = field(default_factory=list)


class Chain:
    """Runs each client on its own thread until `stop`, through any number of broker deaths."""

    def __init__(self, servers: str, protocol: str) -> None:
        self._servers: Servers = {"bootstrap.servers": servers, **_SETTINGS}
        self._protocol = protocol
        self._admin = AdminClient(self._servers)
        self.seen = Seen()
        self._ends = {name: threading.Event() for name in ("produce", "work", "check")}
        self._threads = {
            "produce": [self._thread(self._produce, number) for number in range(2)],
            "work": [self._thread(self._work, number) for number in range(2)] + [self._thread(self._watch, 0)],
            "check": [self._thread(self._check, 0)],
        }

    def start(self) -> None:
        for threads in self._threads.values():
            for thread in threads:
                thread.start()

    def stop(self, name: str) -> None:
        """Stop the clients of one kind."""
        self._ends[name].set()
        for thread in self._threads[name]:
            thread.join(_SECONDS * 4)
            assert not thread.is_alive(), f"{thread.name} is stuck"

    def lag(self) -> int:
        """How many records of `in` the workers' group has not committed."""
        committed = self._committed()
        return sum(end - committed.get(partition, 0) for partition, end in enumerate(self._ends_of("in")))

    def checked(self) -> set[tuple[int, int]]:
        """The records of `out` that the checkers have seen, as partition and offset."""
        return {(partition, offset) for one in list(self.seen.polled) for partition, offset, _ in list(one)}

    def _ends_of(self, topic: str) -> list[int]:
        consumer = Consumer({**self._servers, "group.id": "ends"})
        try:
            return [
                consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=_SECONDS)[1]
                for partition in range(PARTITIONS)
            ]
        finally:
            consumer.close()

    def _thread(self, run: Callable[[int], None], number: int) -> threading.Thread:
        def guarded() -> None:
            try:
                run(number)
            except BaseException as error:
                self.seen.failures.append(error)
                raise

        return threading.Thread(target=guarded, name=f"{run.__name__}-{number}", daemon=True)

    def _produce(self, name: int) -> None:
        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is None:
                self.seen.acknowledged[message.value() or b""] = (message.partition() or 0, message.offset() or 0)

        numbers, end = itertools.count(), self._ends["produce"]
        while not end.is_set():
            producer = Producer({
                **self._servers, "enable.idempotence": True, "linger.ms": 2, "message.timeout.ms": 120_000,
            })  # fmt: skip
            try:
                while not end.is_set():
                    producer.produce("in", b"%d-%d" % (name, next(numbers)), on_delivery=delivered)
                    producer.poll(0.005)
                assert producer.flush(_SECONDS * 2) == 0
            except KafkaException as error:
                # A recovered log, Kafka's too, knows only the last batch of each producer. If librdkafka repeats the
                # batch before that, which is in the log as well, its sequence is out of order. That is fatal: a new
                # producer takes over, which does not send the old records again, so nothing is written twice.
                # poll raises an error that is fatal(), produce one with the code _FATAL.
                if not error.args[0].fatal() and error.args[0].code() != KafkaError._FATAL:
                    raise

    def _consumer(self, group: str) -> Consumer:
        settings = {"session.timeout.ms": 10_000} if self._protocol == "classic" else {}
        return Consumer({
            **self._servers, **settings, "group.id": group, "group.protocol": self._protocol,
            "enable.auto.commit": False, "auto.offset.reset": "earliest", "isolation.level": "read_committed",
        })  # fmt: skip

    def _work(self, number: int) -> None:
        choose = random.Random(number)
        while not self._ends["work"].is_set():
            consumer = self._consumer(_GROUP)
            producer = Producer({
                **self._servers, "transactional.id": f"worker-{number}", "transaction.timeout.ms": 20_000,
            })  # fmt: skip
            try:
                producer.init_transactions(_SECONDS)
                consumer.subscribe(["in"])
                while not self._ends["work"].is_set():
                    self._transform(consumer, producer, choose)
            except KafkaException:
                pass  # fenced, or timed out: a real application would start again too
            finally:
                consumer.close()

    def _transform(self, consumer: Consumer, producer: Producer, choose: random.Random) -> None:
        """One transaction: copy records of `in` to `out` and commit their offsets. Any error restarts the worker."""
        records = [message for message in consumer.consume(50, 0.2) if message.error() is None]
        if not records:
            return
        is_aborted = choose.random() < 0.2
        producer.begin_transaction()
        for message in records:
            value = message.value() or b""
            producer.produce("out", ABORTED + value if is_aborted else value, partition=message.partition() or 0)
        if is_aborted:
            producer.flush(1.0)
            producer.abort_transaction(_SECONDS)
            for message in reversed(records):
                consumer.seek(TopicPartition("in", message.partition() or 0, message.offset() or 0))
            return
        positions, member = consumer.position(consumer.assignment()), consumer.consumer_group_metadata()
        producer.send_offsets_to_transaction(positions, member, _IMPATIENT_SECONDS)
        producer.commit_transaction(_SECONDS)

    def _committed(self) -> dict[int, int]:
        asked = [ConsumerGroupTopicPartitions(_GROUP, [TopicPartition("in", number) for number in range(PARTITIONS)])]
        (future,) = self._admin.list_consumer_group_offsets(
            asked, require_stable=True, request_timeout=_SECONDS
        ).values()
        found = future.result(_SECONDS).topic_partitions
        return {one.partition: one.offset for one in found if one.error is None and one.offset != OFFSET_INVALID}

    def _watch(self, _: int) -> None:
        while not self._ends["work"].is_set():
            try:
                for partition, offset in self._committed().items():
                    self.seen.committed[partition].append(offset)
            except (KafkaException, TimeoutError):
                pass  # the broker is down
            time.sleep(0.05)

    def _check(self, _: int) -> None:
        """Commits nothing, so that each assignment starts at the first record."""
        while not self._ends["check"].is_set():
            consumer = self._consumer(_CHECKERS)
            consumer.subscribe(["out"], on_assign=lambda *_: self.seen.polled.append([]))
            try:
                while not self._ends["check"].is_set():
                    message = consumer.poll(0.2)
                    if message is not None and message.error() is None:
                        place = message.partition() or 0, message.offset() or 0
                        self.seen.polled[-1].append((*place, message.value() or b""))
            except KafkaException:
                pass
            finally:
                consumer.close()
