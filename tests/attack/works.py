"""What a busy program's clients do with a directory, in steps; each reports to the journal what was acknowledged."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from octavo.client.consumer.consumer import Consumer
from octavo.client.producer.producer import Producer
from tests.attack.admin_works import Administer, Flush, Trim
from tests.attack.producing import Producing, Sent
from tests.attack.scene import PATIENCE_SECONDS, Scene, Work

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
GROUP = "readers"
TRANSACTIONAL_IDS = ("a", "b")


class Produce(Producing):
    """Sends records one by one, in batches."""

    def step(self) -> None:
        scene, draw, producer = self._scene, self._scene.draw, self.producer()
        sent: Sent = []
        for _ in range(draw.randint(1, 30)):
            identity = scene.name()
            value = f"{identity}:{'x' * draw.randint(0, 100)}"
            sent.append((identity, producer.send("plain", value, key=f"k{draw.randint(0, 50)}")))
        if not scene.has_threads or draw.random() < 0.4:
            producer.flush()
        self.say_sent("plain", sent)

    def configs(self) -> dict[str, Any]:
        draw = self._scene.draw
        linger = draw.choice((0, 5, 50)) if self._scene.has_threads else 0
        size = draw.choice((200, 2000, 16384))
        return {"linger_ms": linger, "batch_size": size, "compression_type": draw.choice(CODECS)}


class ProduceTables(Producing):
    """Sends whole Arrow tables."""

    def step(self) -> None:
        scene, producer = self._scene, self.producer()
        identities = [scene.name() for _ in range(scene.draw.choice((1, 10, 100, 300)))]
        runs = producer.send_table("table", pa.table({"key": identities, "value": identities}))
        scene.journal.say("appended", identities, [(run.partition, run.base_offset, run.records) for run in runs])

    def configs(self) -> dict[str, Any]:
        return {"compression_type": self._scene.draw.choice(CODECS)}


class Transact(Producing):
    """Transactions over two topics, some aborted, some with a group's offsets."""

    def __init__(self, scene: Scene, transactional_id: str) -> None:
        super().__init__(scene)
        self._id = transactional_id
        self._is_in_doubt = False

    def step(self) -> None:
        scene, draw, producer = self._scene, self._scene.draw, self.producer()
        name, count = scene.name(), draw.randint(1, 12)
        scene.journal.say("begin", name, count)
        self._is_in_doubt = True
        producer.begin_transaction()
        for number in range(count):
            producer.send(draw.choice(("left", "right")), f"{name}:{number}", key=f"{number}")
        if draw.random() < 0.3:
            producer.flush()
        offset = scene.number()
        if has_offsets := draw.random() < 0.2:
            producer.send_offsets_to_transaction({("plain", 0): offset}, self._id)
        if draw.random() < 0.3:
            producer.abort_transaction()
            scene.journal.say("abort", name)
        else:
            producer.commit_transaction()
            scene.journal.say("commit", name)
            if has_offsets:
                scene.journal.say("committed", self._id, 0, offset)
        self._is_in_doubt = False

    def configs(self) -> dict[str, Any]:
        return {"transactional_id": self._id}

    def can_go_on(self, producer: Producer) -> bool:
        """Whether to keep the producer: as in real programs, one whose last transaction failed is replaced."""
        return not self._is_in_doubt and super().can_go_on(producer)


class Consume:
    """A member of a group that commits what it received."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._consumer: Consumer | None = None

    def step(self) -> None:
        logs, journal = self._scene.logs, self._scene.journal
        if self._consumer is None or self._consumer.is_closed:
            self._consumer = logs.consumer("plain", group=GROUP, enable_auto_commit=False)
        self._consumer.poll(10 if self._scene.has_threads else 0, max_records=100)
        self._consumer.commit()
        for name in sorted(self._consumer.assignment()):
            found = self._consumer.committed(name)
            if found is not None:
                journal.say("committed", GROUP, name.partition, found.offset)


class Overwrite(Producing):
    """Writes the keys of a compacted topic again and again, with an occasional tombstone."""

    def step(self) -> None:
        scene, draw, producer = self._scene, self._scene.draw, self.producer()
        for _ in range(5):
            key, identity = f"k{draw.randint(0, 60)}", None if draw.random() < 0.15 else scene.name()
            if identity is None:
                scene.journal.say("dying", key)
            value = None if identity is None else f"{identity}:{'y' * 80}"
            future = producer.send("compacted", value, key=key)
            producer.flush()
            scene.journal.say("key", key, future.result(PATIENCE_SECONDS).offset, identity)


def all_works(scene: Scene) -> list[Work]:
    transactions = [Transact(scene, name) for name in TRANSACTIONAL_IDS]
    rest = (Produce, ProduceTables, Consume, Overwrite, Trim, Administer, Flush)
    return [*transactions, *(work(scene) for work in rest)]
