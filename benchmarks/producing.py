"""Producing compared with confluent-kafka: `python -m benchmarks.producing [--scale S] [--rounds N] [--only TEXT]`.

The peer sends the same records to a real broker, whose CPU time counts together with its client's. Without jars (`make
kafka`), an earlier measurement takes its place, marked `*`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pyarrow as pa
from tests.interop.broker import Broker

import octavo
from benchmarks import clocks, kafka
from benchmarks.data import D1, FOLDER
from benchmarks.jobs import to_arrow
from benchmarks.measure import Contender
from benchmarks.options import parse, print_heading
from benchmarks.reading import Versus, nothing, run
from octavo.client.log_dir import LogDir
from octavo.kernels.layout import Column

RECORDS = 1_000_000  # 116 B each, like d1's
QUOTED_A_CPU_SECOND = 560_000  # confluent-kafka's client alone
TOPIC = "produced"
Pairs = list[tuple[bytes, bytes]]


def records(scale: float) -> tuple[pa.RecordBatch, Pairs]:
    """Keys of 16 bytes and values of 100, as columns and as objects."""
    columns = D1.columns(0, int(RECORDS * scale))
    batch = to_arrow(columns, Column.KEY | Column.VALUE)
    return batch, list(zip(batch.column("key").to_pylist(), batch.column("value").to_pylist(), strict=True))


@contextmanager
def new_store(partitions: int) -> Iterator[LogDir]:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder, octavo.LogDir(folder) as logs:
        logs.create_topic(TOPIC, partitions)
        yield logs


def confluent_produce(broker: Broker, pairs: Pairs) -> None:
    """librdkafka through confluent-kafka, with its defaults except for the length of its queue."""
    from confluent_kafka import Producer

    settings = {"bootstrap.servers": broker.bootstrap_servers, "queue.buffering.max.messages": 1_000_000}
    producer = Producer(settings)
    for key, value in pairs:
        while True:
            try:
                producer.produce(TOPIC, value, key)
                break
            except BufferError:
                producer.poll(0.01)
    producer.flush()


def send_table(logs: LogDir, batch: pa.RecordBatch, batch_size: int) -> None:
    with logs.producer(batch_size=batch_size) as producer:
        producer.send_table(TOPIC, batch)


def send(logs: LogDir, pairs: Pairs, batch_size: int) -> None:
    with logs.producer(batch_size=batch_size) as producer:
        for key, value in pairs:
            producer.send(TOPIC, value, key)


def producing_jobs(scale: float) -> Iterator[Versus]:
    batch, pairs = records(scale)
    quoted = len(pairs) / QUOTED_A_CPU_SECOND
    with kafka.new_broker(TOPIC) as broker, new_store(1) as one, new_store(12) as twelve:
        peer = partial(_peer, broker, pairs)
        for name, logs, batch_size in (
            ("1 MB batches", one, 1_000_000),
            ("16 KB batches", one, 16384),
            ("12 partitions", twelve, 16384),
        ):
            gate = 15.0 if logs is one else 0.0
            ours = Contender("send_table", partial(send_table, logs, batch, batch_size))
            yield Versus(f"append from Arrow, {name}", ours, peer(), gate, "cpu", quoted)
        for name, batch_size in (("1 MB batches", 1_000_000), ("16 KB batches", 16384)):
            ours = Contender("send", partial(send, one, pairs, batch_size))
            yield Versus(f"send(), {name}", ours, peer(), 0.5, "cpu", quoted)


def _peer(broker: Broker | None, pairs: Pairs) -> Contender:
    if broker is None:
        return Contender("confluent-kafka", nothing)
    both = clocks.together(clocks.own, partial(clocks.of_process, broker.pid))
    return Contender("confluent-kafka", partial(confluent_produce, broker, pairs), both)


def main() -> None:
    options = parse("benchmarks.producing", __doc__, scale=0.5, of="share of a million records", rounds=2)
    print_heading(options)
    for job in producing_jobs(options.scale):
        if options.only in job.name:
            run(job, options)


if __name__ == "__main__":
    main()
