"""A compacted topic with several partitions that gets more of them while a thread writes to it."""

from __future__ import annotations

import random
import threading
from types import ModuleType

from tests.interop.clients import Acknowledged, Admin, Producer
from tests.interop.workload import COMPACTED, SMALL, drawn_records


class GrowingTopic:
    """A thread writes to it from `start` to `stop`; `grow` adds a partition. An error in the thread is kept."""

    def __init__(self, jvm: ModuleType, bootstrap_servers: str, name: str, seed: int) -> None:
        self.name = name
        self.partitions = 2
        self.errors: list[BaseException] = []
        self._admin, self._producer = Admin(jvm, bootstrap_servers), Producer(jvm, bootstrap_servers)
        self._draw = random.Random(seed)
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._acknowledged: list[Acknowledged] = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._admin.create(self.name, self.partitions, **SMALL, **COMPACTED)
        self._thread.start()

    def grow(self) -> None:
        self._admin.add_partitions(self.name, self.partitions + 1)
        self.partitions += 1

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
        self._producer.close()
        self._admin.close()

    def acknowledged(self) -> list[Acknowledged]:
        """What has been confirmed up to now, in the order of each partition's offsets."""
        with self._lock:
            return list(self._acknowledged)

    def _run(self) -> None:
        try:
            while not self._stopped.is_set():
                partition = self._draw.randrange(self.partitions)
                sent = self._producer.send(self.name, drawn_records(self._draw, tombstones=True), partition)
                with self._lock:
                    self._acknowledged += sent
        except BaseException as error:
            self.errors.append(error)
