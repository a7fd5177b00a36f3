"""Groups and transactions compared with a real Kafka: `python -m benchmarks.coordinating [--rounds N] [--only TEXT]`.

Each broker runs in its own process, with configs for tests, over an empty directory on the same disk.
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from collections.abc import Iterator
from functools import partial

from confluent_kafka import Consumer, Producer

from benchmarks import clocks, kafka
from benchmarks.broker import Server, create, our_broker
from benchmarks.heartbeats import classic_members, consumer_members, steady_share
from benchmarks.measure import Contender
from benchmarks.options import parse, print_heading
from benchmarks.reading import Versus, run
from octavo.testing.slate import PROFILE

TRANSACTIONS = 500
GROUPS, MEMBERS = 1000, 5
_DELAY = "group.initial.rebalance.delay.ms"
_INTERVAL = "group.consumer.assignment.interval.ms"
_WAIT_SECONDS = 30.0


def first_record(server: Server, topic: str) -> float:
    """The seconds from creating a consumer of confluent-kafka in a new group to its first record."""
    started = time.perf_counter()
    consumer = Consumer({**_servers(server), "group.id": f"{uuid.uuid4()}", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    message = consumer.poll(_WAIT_SECONDS)
    seconds = time.perf_counter() - started
    assert message is not None and message.error() is None
    consumer.close()
    return seconds


def transactions(producer: Producer, topic: str, count: int) -> None:
    """Transactions of one small record, one after the other."""
    for _ in range(count):
        producer.begin_transaction()
        producer.produce(topic, b"a coffee")
        producer.commit_transaction(_WAIT_SECONDS)


def group_job(ours: Server, real: Server, name: str, gate: float) -> Versus:
    for server in (ours, real):
        create(server, "joined")
    mine, its = (Contender(one.name, partial(first_record, one, "joined")) for one in (ours, real))
    return Versus(name, mine, its, gate, "wall")


def transaction_job(ours: Server, real: Server, scale: float) -> Versus:
    contenders = []
    for server in (ours, real):
        create(server, "transactions")
        producer = Producer({**_servers(server), "transactional.id": "bench", "linger.ms": 0})
        producer.init_transactions(_WAIT_SECONDS)
        work = partial(transactions, producer, "transactions", int(TRANSACTIONS * scale))
        contenders.append(Contender(server.name, work, partial(clocks.of_process, server.pid)))
    return Versus(f"{int(TRANSACTIONS * scale)} transactions of one record", *contenders, 1.0, "wall")


def steady_figures(scale: float, only: str) -> Iterator[tuple[str, float, float]]:
    """The share of a core that the broker uses for idle groups, with its limit."""
    groups = int(GROUPS * scale)
    for kind, join, seconds in (("classic", classic_members, 3.0), ("consumer", consumer_members, 5.0)):
        name = f"{groups:,} {kind} groups of {MEMBERS}, share of a core"
        if only not in name:
            continue
        # The delay is long enough for all members of a classic group to join; a consumer group assigns without a pause.
        with our_broker("--config", f"{_DELAY}=2000", "--config", f"{_INTERVAL}=0") as server:
            create(server, "steady")
            yield name, steady_share(server, join(server, "steady", groups, MEMBERS), seconds), 0.2


def _servers(server: Server) -> dict[str, str | int]:
    host, port = server.address
    return {"bootstrap.servers": f"{host}:{port}", "log_level": 0}


def _profile() -> list[str]:
    return [word for name, value in PROFILE.items() for word in ("--config", f"{name}={value}")]


def main() -> None:
    options = parse("benchmarks.coordinating", __doc__, scale=1.0, of="share of the transactions and groups", rounds=5)
    if not kafka.is_here():
        print("skipped: no Kafka to compare with (make kafka)", file=sys.stderr)
        return
    print_heading(options)
    with our_broker(*_profile()) as ours:
        for delay_ms, name, gate in (3000, "group join to first record", 3.0), (0, "Kafka without join delay", 0.8):
            with kafka.new_broker("unused", properties={_DELAY: f"{delay_ms}"}) as broker:
                assert broker is not None
                real = Server("kafka 4.3.1", ("localhost", broker.port), broker.pid)
                jobs = [group_job(ours, real, name, gate)]
                jobs += [] if delay_ms else [transaction_job(ours, real, options.scale)]
                for job in jobs:
                    if options.only in job.name:
                        run(job, options)
    for name, figure, limit in steady_figures(options.scale, options.only):
        if options.json:
            print(json.dumps({"job": name, "figure": figure, "limit": limit}))
        else:
            print(f"{name:46} {figure:8.3f} {'at most':>18} {limit:8.2f} {'met' if figure <= limit else 'MISSED':>26}")


if __name__ == "__main__":
    main()
