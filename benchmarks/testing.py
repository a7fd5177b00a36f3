"""The broker for tests: `python -m benchmarks.testing [--rounds N] [--only TEXT]`; wall time, compared with a limit."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from confluent_kafka import Consumer, Producer

from benchmarks.data import FOLDER
from benchmarks.measure import Contender
from benchmarks.options import parse, print_heading
from benchmarks.reading import Versus, nothing, run
from octavo.testing import Kafka


def used(kafka: Kafka) -> Kafka:
    """The broker as a test leaves it: with a topic and a record, and after serving a client."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    producer.produce("orders", b"a coffee")
    assert producer.flush(10) == 0
    return kafka


def start(path: Path) -> float:
    """A broker for a test, from nothing to its address."""
    started = time.perf_counter()
    kafka = Kafka(path=path)
    seconds = time.perf_counter() - started
    kafka.close()
    return seconds


def slate(path: Path) -> float:
    """From the end of one test to the beginning of the next, as the fixture does it."""
    kafka = used(Kafka(path=path / "last"))
    kafka.is_temporary = True
    started = time.perf_counter()
    kafka.close()
    following = Kafka(path=path / "next")
    seconds = time.perf_counter() - started
    following.close()
    return seconds


def group(path: Path) -> float:
    """A record from a producer of confluent-kafka to a consumer in a group, both new."""
    with Kafka(path=path) as kafka:
        kafka.topic("orders")
        started = time.perf_counter()
        used(kafka)
        servers = {"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0, "reconnect.backoff.ms": 1}
        consumer = Consumer({**servers, "group.id": "billing", "auto.offset.reset": "earliest"})
        consumer.subscribe(["orders"])
        message = consumer.poll(10)
        assert message is not None and message.value() == b"a coffee"
        seconds = time.perf_counter() - started
        consumer.close()
        return seconds


def reset(path: Path) -> float:
    """A clean slate at the same address."""
    with used(Kafka(path=path)) as kafka:
        started = time.perf_counter()
        kafka.reset()
        return time.perf_counter() - started


def advance(path: Path) -> float:
    """Advance the clock of a broker with ten topics by eight days."""
    with Kafka(path=path) as kafka:
        for _ in range(10):
            kafka.produce(kafka.topic(), "a coffee")
        started = time.perf_counter()
        kafka.clock.advance(days=8)
        return time.perf_counter() - started


def _in_new_folder(job: Callable[[Path], float], root: Path) -> float:
    return job(Path(tempfile.mkdtemp(dir=root)))


def jobs(root: Path) -> Iterator[Versus]:
    for name, job, limit in (
        ("fixture start", start, 0.05),
        ("clean slate", slate, 0.005),
        ("reset", reset, 0.005),
        ("produce, then consume in a group", group, 0.15),
        ("advance by 8 days", advance, 0.1),
    ):
        contender = Contender(name, partial(_in_new_folder, job, root))
        yield Versus(name, contender, Contender("limit", nothing), 1.0, "wall", limit)


def main() -> None:
    options = parse("benchmarks.testing", __doc__, scale=1.0, of="not used", rounds=10)
    FOLDER.mkdir(parents=True, exist_ok=True)
    print_heading(options)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        for job in jobs(Path(folder)):
            if options.only in job.name:
                run(job, options)


if __name__ == "__main__":
    main()
