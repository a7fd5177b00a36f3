"""Our broker compared with a real Kafka: `python -m benchmarks.broker [--scale S] [--rounds N] [--only TEXT]`.

Each runs in its own process, over an empty directory on the same disk, and gets the same bytes from the same client.
Seconds are the client's wall time or the broker's CPU time.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.broker.raw import RawClient
from tests.broker.requests import produced

from benchmarks import clocks, kafka
from benchmarks.data import FOLDER
from benchmarks.measure import Contender
from benchmarks.options import parse, print_heading
from benchmarks.raw_client import Repeated, repeat
from benchmarks.reading import Versus, run
from octavo.broker.broker import Broker
from octavo.format.batches.batch import build_batch
from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from octavo.format.protocol.apis import Api
from octavo.format.record import Record

KB = 1 << 10
MB = 1 << 20
_MOST_WARMUPS = 20  # a JVM compiles its hot code more than once, and gets faster for a dozen rounds
RECORDS = 500_000  # sent through confluent-kafka, end to end
_LIMITS = {
    "start to first answer, s": 0.5,
    "the same in process, s": 0.05,
    "idle, MB": 100,
    "1,000 idle connections, MB more": 40,
}


class Server(NamedTuple):
    name: str
    address: tuple[str, int]
    pid: int


class Shape(NamedTuple):
    """How a request is repeated."""

    requests: int
    connections: int
    in_flight: int


@contextmanager
def our_broker(*options: str) -> Iterator[Server]:
    """`octavo broker` over an empty directory, with cached bytecode, as in an installed package: compiling all modules
    takes as long as the rest of its start."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(FOLDER.resolve() / "bytecode"),
    }
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        line = [sys.executable, "-m", "octavo", "broker", str(Path(folder, "logs")), "--listen", "127.0.0.1:0"]
        with subprocess.Popen([*line, *options], stdout=subprocess.PIPE, text=True, env=environment) as process:
            assert process.stdout is not None
            try:
                port = int(process.stdout.readline().rpartition(":")[2])
                yield Server("octavo broker", ("127.0.0.1", port), process.pid)
            finally:
                process.send_signal(signal.SIGTERM)


def batch_of(size: int) -> bytes:
    """One batch of about this size, of records of 1 KB at most; stamped now, or retention would soon delete it."""
    now_ms = int(time.time() * 1000)
    value = bytes(min(size - 100, KB))
    records = [Record(number, now_ms, None, value) for number in range(max(1, size // (KB + 10)))]
    return build_batch(records)


def create(server: Server, topic: str) -> None:
    wanted = {"name": topic, "numPartitions": 1, "replicationFactor": 1}
    with RawClient(server.address) as client:
        client.ask(apis.CREATE_TOPICS, 4, {"topics": [wanted], "timeoutMs": 30_000})
        while True:  # a broker shows a new topic a moment later
            answer = client.ask(apis.PRODUCE, 9, produced(topic, 0, batch_of(KB)))
            if answer is not None and not answer["responses"][0]["partitionResponses"][0]["errorCode"]:
                return
            time.sleep(0.1)


def fill(server: Server, topic: str, batch: bytes, size: int) -> None:
    create(server, topic)
    with RawClient(server.address) as client:
        for _ in range(size // len(batch) + 1):
            client.ask(apis.PRODUCE, 9, produced(topic, 0, batch))


def fetched(topic: str, size: int) -> Row:
    partition = {"partition": 0, "fetchOffset": 1, "partitionMaxBytes": size}
    return {
        "maxWaitMs": 0, "minBytes": 1, "maxBytes": size, "sessionEpoch": -1,
        "topics": [{"topic": topic, "partitions": [partition]}],
    }  # fmt: skip


def contender(server: Server, api: Api, version: int, body: Row, shape: Shape, written_bytes: int) -> Contender:
    clients = [Repeated(server.address, api, version, body, shape.in_flight) for _ in range(shape.connections)]
    work = partial(repeat, clients, shape.requests, shape.in_flight)
    clock = partial(clocks.of_process, server.pid)
    return Contender(server.name, work, clock, partial(use_memory, written_bytes), _MOST_WARMUPS)


def use_memory(size: int) -> None:
    """Fill the page cache with a file, and remove it: the next file gets these pages.

    A virtual machine returns free memory to its host, and takes longer to get a page back (10 µs, measured here) than a
    broker takes to fill it.
    """
    path = FOLDER / "memory"
    with path.open("wb") as file:
        for _ in range(-(-size // MB)):
            file.write(bytes(MB))
    path.unlink()


def raw_jobs(ours: Server, real: Server, scale: float) -> Iterator[Versus]:
    def shape(requests: int, connections: int, in_flight: int) -> Shape:
        return Shape(int(requests * scale), connections, in_flight)

    def both(
        name: str, api: Api, version: int, body: Row, how: Shape, wall: float | None, cpu: float | None, size: int = 0
    ) -> Iterator[Versus]:
        mine, its = (contender(server, api, version, body, how, size * how.requests) for server in (ours, real))
        if wall is not None:
            yield Versus(name, mine, its, wall, "wall")
        if cpu is not None:
            yield Versus(f"{name}, CPU", mine, its, cpu, "cpu")

    sizes = {"1 KB": KB, "16 KB": 16 * KB, "1 MB": 1000 * KB}
    for server in (ours, real):
        for size in sizes.values():
            create(server, f"produce-{size}")
            if size > KB:
                fill(server, f"fetch-{size}", batch_of(size), 8 * size)
    yield from both("metadata, 4 x 5", apis.METADATA, 12, {"topics": []}, shape(100_000, 4, 5), None, 1.5)
    # So few requests that the page cache holds all their records: with more, both brokers wait for the same disk.
    for name, requests, how, wall, cpu in (
        ("1 KB", 50_000, (4, 5), 1.0, None),
        ("16 KB", 10_000, (4, 5), 1.2, 1.2),
        ("1 MB", 200, (2, 2), 1.2, 1.2),
    ):
        body = produced(f"produce-{sizes[name]}", 0, batch_of(sizes[name]), acks=1)
        job = f"produce {name}, {how[0]} x {how[1]}"
        yield from both(job, apis.PRODUCE, 9, body, shape(requests, *how), wall, cpu, sizes[name])
    for name, requests, how, wall, cpu in (("16 KB", 50_000, (4, 2), 1.2, None), ("1 MB", 4_000, (2, 2), 0.8, 1.0)):
        body = fetched(f"fetch-{sizes[name]}", sizes[name])
        yield from both(f"fetch {name}, {how[0]} x {how[1]}", apis.FETCH, 12, body, shape(requests, *how), wall, cpu)


def confluent(server: Server, topic: str, count: int) -> None:
    """Produce records and consume them, as fast as librdkafka can."""
    from confluent_kafka import Consumer, Producer, TopicPartition

    servers = {"bootstrap.servers": f"{server.address[0]}:{server.address[1]}"}
    producer = Producer({**servers, "linger.ms": 5, "queue.buffering.max.messages": 2_000_000, "acks": 1})
    for _ in range(count):
        producer.produce(topic, b"x" * 100)
    producer.flush()
    consumer = Consumer({**servers, "group.id": "g", "enable.auto.commit": False, **kafka.TUNED})
    low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0))
    consumer.assign([TopicPartition(topic, 0, max(low, high - count))])
    left = count
    while left:
        left -= len(consumer.consume(min(left, 10_000), 30))
    consumer.close()


def confluent_jobs(ours: Server, real: Server, scale: float) -> Iterator[Versus]:
    for server in (ours, real):
        create(server, "confluent")
    mine, its = (
        Contender(server.name, partial(confluent, server, "confluent", int(RECORDS * scale)), clocks.own)
        for server in (ours, real)
    )
    yield Versus("confluent-kafka, produce and consume", mine, its, 1.0, "wall")


def limits(only: str, as_json: bool) -> None:
    """Print how long a broker takes to start and how much memory it uses at rest, next to the limits."""
    wanted = {name: limit for name, limit in _LIMITS.items() if only in name}
    figures = at_rest() if wanted else {}
    for name, limit in wanted.items():
        if as_json:
            print(json.dumps({"job": name, "figure": figures[name], "limit": limit}))
        else:
            verdict = "met" if figures[name] <= limit else "MISSED"
            print(f"{name:38} {figures[name]:8.3f} {'at most':>26} {limit:8.2f} {verdict:>27}")


def at_rest() -> dict[str, float]:
    """The figures that have limits, in their order."""
    start = min(seconds_to_first_answer() for _ in range(3))
    start_here = min(seconds_in_process() for _ in range(3))
    with our_broker() as server:
        with RawClient(server.address) as client:
            client.ask(apis.METADATA, 12, {"topics": []})
        idle = resident_mb(server.pid)
        clients = [RawClient(server.address) for _ in range(1000)]
        for one in clients:
            one.ask(apis.API_VERSIONS, 0, {})
        crowded = resident_mb(server.pid)
    return dict(zip(_LIMITS, (start, start_here, idle, crowded - idle), strict=True))


def seconds_to_first_answer() -> float:
    """The time from the start of the process to its first answer."""
    started = time.perf_counter()
    with our_broker() as server, RawClient(server.address) as client:
        client.ask(apis.METADATA, 12, {"topics": []})
        return time.perf_counter() - started


def seconds_in_process() -> float:
    """From nothing to a broker's first answer, in a process that has imported everything."""
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        started = time.perf_counter()
        with Broker(Path(folder, "logs")) as broker, RawClient(broker.address) as client:
            client.ask(apis.METADATA, 12, {"topics": []})
            return time.perf_counter() - started


def resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def main() -> None:
    options = parse("benchmarks.broker", __doc__, scale=1.0, of="share of the requests", rounds=3)
    if not kafka.is_here():
        print("skipped: no Kafka to compare with (make kafka)", file=sys.stderr)
        return
    print_heading(options)
    with kafka.new_broker("unused") as broker, our_broker() as ours:
        assert broker is not None
        real = Server("kafka 4.3.1", ("localhost", broker.port), broker.pid)
        for group in (raw_jobs, confluent_jobs):
            for job in group(ours, real, options.scale):
                if options.only in job.name:
                    run(job, options)
    limits(options.only, options.json)


if __name__ == "__main__":
    main()
