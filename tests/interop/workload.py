"""Writers that keep a broker busy from threads: appends, rolls, compaction, retention, transactions, deleted topics."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from types import ModuleType

from tests.interop.clients import Acknowledged, Admin, Producer

SEGMENT_BYTES = "20000"
SMALL = {"internal_segment_bytes": SEGMENT_BYTES, "index_interval_bytes": "500"}
COMPACTED = {"cleanup_policy": "compact", "min_cleanable_dirty_ratio": "0.01", "delete_retention_ms": "2000"}
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


class Workload:
    """Runs from `start` to `stop`. `acknowledged` is what the broker has confirmed; an error in a writer is kept."""

    def __init__(self, jvm: ModuleType, bootstrap_servers: str, prefix: str, seed: int) -> None:
        self.plain, self.compacted = f"{prefix}.plain", f"{prefix}.compacted"
        self.retained, self.transactional = f"{prefix}.retained", f"{prefix}.transactional"
        self.errors: list[BaseException] = []
        self._jvm = jvm
        self._servers = bootstrap_servers
        self._prefix = prefix
        self._seed = seed
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._acknowledged: list[Acknowledged] = []
        self._committed: list[Acknowledged] = []
        writers = self._write_plain, self._write_compacted, self._write_retained, self._write_transactions, self._churn
        self._threads = [threading.Thread(target=self._run, args=(writer,), daemon=True) for writer in writers]

    def start(self) -> None:
        admin = Admin(self._jvm, self._servers)
        admin.create(self.plain, 1, **SMALL)
        admin.create(self.transactional, 1, **SMALL)
        admin.create(self.compacted, 1, **SMALL, **COMPACTED)
        admin.create(self.retained, 1, **SMALL, retention_bytes="60000")
        admin.close()
        for thread in self._threads:
            thread.start()
        # A broker creates the folder of a new topic a moment later: the first answer shows that it is there.
        for topic in (self.plain, self.transactional, self.compacted, self.retained):
            while not self.acknowledged(topic) and not self.errors:
                time.sleep(0.05)

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def acknowledged(self, topic: str) -> list[Acknowledged]:
        """What has been confirmed up to now."""
        with self._lock:
            return [record for record in self._acknowledged if record.topic == topic]

    def committed(self) -> list[Acknowledged]:
        """The records of transactions that have been committed up to now."""
        with self._lock:
            return list(self._committed)

    def _run(self, writer: Callable[[random.Random], None]) -> None:
        try:
            writer(random.Random(f"{self._seed}{writer.__name__}"))
        except BaseException as error:
            self.errors.append(error)

    def _note(self, records: list[Acknowledged]) -> list[Acknowledged]:
        with self._lock:
            self._acknowledged += records
        return records

    def _write_plain(self, draw: random.Random) -> None:
        producers = [Producer(self._jvm, self._servers, compression_type=codec) for codec in CODECS]
        while not self._stopped.is_set():
            self._note(draw.choice(producers).send(self.plain, drawn_records(draw)))
        for producer in producers:
            producer.close()

    def _write_compacted(self, draw: random.Random) -> None:
        producer = Producer(self._jvm, self._servers)
        while not self._stopped.is_set():
            self._note(producer.send(self.compacted, drawn_records(draw, tombstones=True)))
        producer.close()

    def _write_retained(self, draw: random.Random) -> None:
        producer, admin = Producer(self._jvm, self._servers), Admin(self._jvm, self._servers)
        while not self._stopped.is_set():
            records = self._note(producer.send(self.retained, drawn_records(draw)))
            if draw.random() < 0.02:
                admin.delete_records(self.retained, 0, records[-1].offset)
        producer.close()
        admin.close()

    def _write_transactions(self, draw: random.Random) -> None:
        """A commit returns before its marker is written; the next transaction's first answer shows that it was."""
        producer = Producer(self._jvm, self._servers, transactional_id=f"{self._prefix}.transactions")
        committing: list[Acknowledged] = []
        while not self._stopped.is_set():
            producer.begin()
            records = self._note(producer.send(self.transactional, drawn_records(draw)))
            with self._lock:
                self._committed += committing
            if draw.random() < 0.5:
                producer.abort()
                committing = []
            else:
                producer.commit()
                committing = records
        producer.close()

    def _churn(self, draw: random.Random) -> None:
        """Create and delete topics again and again."""
        producer, admin, number = Producer(self._jvm, self._servers), Admin(self._jvm, self._servers), 0
        while not self._stopped.is_set():
            topic, number = f"{self._prefix}.churn-{number}", number + 1
            admin.create(topic, internal_segment_bytes=SEGMENT_BYTES)
            for _ in range(draw.randrange(1, 5)):
                self._note(producer.send(topic, drawn_records(draw)))
            admin.delete(topic)
        producer.close()
        admin.close()


def drawn_records(draw: random.Random, *, tombstones: bool = False) -> list[tuple[bytes | None, bytes | None]]:
    count = draw.choice((1, 1, 3, 20, 100))
    made: list[tuple[bytes | None, bytes | None]] = []
    for _ in range(count):
        value = None if tombstones and draw.random() < 0.1 else draw.randbytes(draw.randrange(120))
        made.append((b"key-%d" % draw.randrange(40), value))
    return made
