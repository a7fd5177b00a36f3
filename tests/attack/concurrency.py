"""Everything at once on threads of one process, for a while: nothing is lost, duplicated, out of order or missed."""

from __future__ import annotations

import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from octavo.client.log_dir import LogDir
from tests.attack.after_loss import after_kill
from tests.attack.checks import rows
from tests.attack.journal import Memory, Place
from tests.attack.scene import PATIENCE_SECONDS, Scene
from tests.attack.tally import Tally
from tests.attack.works import CODECS, all_works
from tests.attack.worlds import Complaints, make_topics, opened

TOPIC, GROUP, PARTITIONS, PRODUCERS, CONSUMERS = "busy", "busy", 4, 4, 3
END_SECONDS = 60


class Crowd:
    """Threads that work until `end` is set."""

    def __init__(self, seed: int, root: Path, logs: LogDir) -> None:
        self.root, self.logs, self.seed = root, logs, seed
        self.journal, self.tally = Memory(), Tally()
        self.end = threading.Event()
        self.has_all = threading.Event()  # the group has received everything, or its time is over
        self.sent: dict[Place, str] = {}
        self.consumed: set[Place] = set()
        self.scans = 0

    def run(self, seconds: float) -> None:
        works = all_works(Scene(self.logs, self.journal, Random(f"concurrency {self.seed}")))
        threads = [
            *(self._thread(self._repeat, work.step) for work in works),
            *(self._thread(self._produce, number) for number in range(PRODUCERS)),
            self._thread(self._repeat, self._scan),
            self._thread(self._recreate),
        ]
        consumers = [self._thread(self._consume, number) for number in range(CONSUMERS)]
        self.end.wait(seconds)
        self.end.set()
        self._join(threads)
        deadline = time.monotonic() + END_SECONDS
        while len(self.consumed) < len(self.sent) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.has_all.set()
        self._join(consumers)
        missed = set(self.sent) - self.consumed
        if missed:
            some = sorted(missed)[:3]
            self.tally.findings.append(f"the group missed {len(missed)} of {len(self.sent)} records: {some}")

    def _thread(self, function: Callable[..., None], *arguments: object) -> threading.Thread:
        def run() -> None:
            try:
                function(*arguments)
            except BaseException:
                self.tally.findings.append(traceback.format_exc())
                self.end.set()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def _join(self, threads: list[threading.Thread]) -> None:
        for thread in threads:
            thread.join(END_SECONDS)
        hanging = sum(thread.is_alive() for thread in threads)
        if hanging:
            raise TimeoutError(f"{hanging} threads hang; so far: {self.tally.findings}")

    def _repeat(self, step: Callable[[], None]) -> None:
        while not self.end.is_set():
            step()

    def _produce(self, number: int) -> None:
        producer = self.logs.producer(linger_ms=1, compression_type=CODECS[number % len(CODECS)])
        made = 0
        while not self.end.is_set():
            values = [f"{number}:{made + one}" for one in range(50)]
            made += len(values)
            futures = [producer.send(TOPIC, value, key=f"{value[-2:]}") for value in values]
            for value, future in zip(values, futures, strict=True):
                place = future.result(PATIENCE_SECONDS)
                self.sent[place.partition, place.offset] = value

    def _consume(self, number: int) -> None:
        while not self.has_all.is_set():
            with self.logs.consumer(TOPIC, group=GROUP, auto_commit_interval_ms=50) as consumer:
                # One of the consumers comes and goes.
                for _ in range(200 if number == 0 else 1_000_000_000):
                    for found in consumer.poll(20).values():
                        self.consumed.update((record.partition, record.offset) for record in found)
                    if self.has_all.is_set():
                        break

    def _scan(self) -> None:
        """A reader next to the writers must see a log without gaps from its beginning."""
        offsets: dict[int, list[int]] = defaultdict(list)
        for partition, offset, *_ in rows(self.root, TOPIC):
            offsets[partition].append(offset)
        for partition, found in offsets.items():
            if found != list(range(len(found))):
                self.tally.findings.append(f"a scan of {TOPIC}-{partition} has gaps")
        for topic in ("compacted", "retained"):
            rows(self.root, topic)
        self.scans += 1

    def _recreate(self) -> None:
        """Delete and recreate a topic to which a record may still be on its way."""
        with self.logs.producer(linger_ms=0) as producer:
            while not self.end.is_set():
                self.logs.create_topic("brief", 2, {"segment.index.bytes": 2048})
                producer.send("brief", b"value", partition=0).result(PATIENCE_SECONDS)
                producer.send("brief", b"value", partition=1)
                self.logs.delete_topic("brief")


def attack(seed: int, folder: Path, seconds: float) -> Tally:
    """Run the crowd for this long, close, and check that everything is there, once and in order."""
    root = folder / "logs"
    logs = opened(root)
    make_topics(logs)
    logs.create_topic(TOPIC, PARTITIONS, {"segment.bytes": 200_000, "retention.ms": -1, "segment.index.bytes": 16384})
    crowd = Crowd(seed, root, logs)
    Complaints(lambda told: crowd.tally.findings.append(f"logged: {told}"))
    crowd.run(seconds)
    if logs.offline:
        crowd.tally.findings.append(f"offline: {logs.offline}")
    logs.close()
    tally, _ = after_kill(root, crowd.journal.lines, is_crash=False)
    crowd.tally.add(tally)
    crowd.tally.findings += _problems_of_order(root, crowd.sent)
    crowd.tally.counts += Counter({"seconds of concurrency": round(seconds), "records acknowledged": len(crowd.sent)})
    return crowd.tally


def _problems_of_order(root: Path, sent: dict[Place, str]) -> list[str]:
    found = {(partition, offset): (value or b"").decode() for partition, offset, _, value in rows(root, TOPIC)}
    lost = [place for place, value in sent.items() if found.get(place) != value]
    doubled = [value for value, count in Counter(found.values()).items() if count > 1]
    numbers: dict[tuple[int, str], list[int]] = defaultdict(list)
    for (partition, _), value in sorted(found.items()):
        producer, number = value.split(":")
        numbers[partition, producer].append(int(number))
    disordered = [key for key, row in numbers.items() if row != sorted(row)]
    problems: dict[str, list[Any]] = {"lost": lost, "there more than once": doubled, "out of order": disordered}
    return [f"{TOPIC}: {len(those)} {problem}: {those[:3]}" for problem, those in problems.items() if those]
