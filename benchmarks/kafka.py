"""Kafka for comparison: its command line tools, brokers, and clients in Java and Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.interop.broker import KAFKA_VERSION, KAFKAS_JVM_OPTIONS, Broker
from tests.interop.jars import CACHE

from benchmarks.data import FOLDER, DataSet
from benchmarks.directory import put_segment

# By default a librdkafka consumer waits a second when its queue is full, which would dominate the time for small
# records.
TUNED = {"queued.min.messages": 1_000_000, "queued.max.messages.kbytes": 262144, "fetch.queue.backoff.ms": 5}


def java_tool(main: str, *arguments: object) -> list[str] | None:
    """The command line of one of Kafka's tools; None without jars or Java."""
    java, libs = shutil.which("java"), CACHE / f"kafka-{KAFKA_VERSION}" / "libs"
    if java is None or not libs.is_dir():
        return None
    return [java, "-Xmx512m", "-cp", f"{libs}/*", f"org.apache.kafka.tools.{main}", *map(str, arguments)]


def is_here() -> bool:
    return java_tool("") is not None


def dump_log(*arguments: object) -> list[str] | None:
    return java_tool("DumpLogSegments", *arguments)


def run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@contextmanager
def broker_over(scale: float, *sets: DataSet) -> Iterator[Broker | None]:
    """A broker whose topics hold the data sets; None if it is not available."""
    if not is_here():
        yield None
        return
    broker = Broker(FOLDER / f"broker-{scale:g}", jvm_options=KAFKAS_JVM_OPTIONS)
    try:
        prepare(broker, scale, sets)
        broker.start()
        yield broker
    finally:
        broker.stop()


@contextmanager
def new_broker(topic: str, partitions: int = 1, *, properties: dict[str, str] | None = None) -> Iterator[Broker | None]:
    """A broker with an empty topic; None if it is not available."""
    if not is_here():
        yield None
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        broker = Broker(Path(folder).resolve(), properties, jvm_options=KAFKAS_JVM_OPTIONS)
        try:
            broker.start()
            _create(broker, {topic: partitions})
            yield broker
        finally:
            broker.stop()


def _create(broker: Broker, partitions: dict[str, int]) -> None:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for future in admin.create_topics([NewTopic(topic, count, 1) for topic, count in partitions.items()]).values():
        future.result()


def prepare(broker: Broker, scale: float, sets: tuple[DataSet, ...]) -> None:
    """Make the broker create the topics, and add the segments while it is not running."""
    missing = [data for data in sets if not (broker.log_dir / f"{data.name}-0").is_dir()]
    if missing:
        print(f"making {broker.log_dir}", file=sys.stderr)
        broker.start()
        _create(broker, {data.name: 1 for data in missing})
        broker.stop()
    for data in sets:
        put_segment(broker.log_dir / f"{data.name}-0", data.path(scale))


def consumer_performance(broker: Broker, data: DataSet, scale: float) -> None:
    """Kafka's own consumer, in Java, driven by its performance tool."""
    topic = "--bootstrap-server", broker.bootstrap_servers, "--topic", data.name
    command = java_tool(
        "ConsumerPerformance", *topic, "--num-records", data.rows(scale), "--timeout", 60000, "--group", uuid.uuid4()
    )
    assert command is not None
    run(command)


def confluent_consume(broker: Broker, data: DataSet, scale: float) -> None:
    """librdkafka through confluent-kafka, with one Python object per record."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "bench", "enable.auto.commit": False}
    consumer = Consumer({**settings, **TUNED})
    consumer.assign([TopicPartition(data.name, 0, OFFSET_BEGINNING)])
    seen = size = 0
    while seen < data.rows(scale):
        for message in consumer.consume(10_000, 1.0):
            size += len(message.value() or b"") + len(message.key() or b"")
            seen += 1
    consumer.close()


def tiny_log(folder: Path, content: Path, size: int) -> Path:
    """A log that consists of another log's first bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / content.name
    with content.open("rb") as file:
        path.write_bytes(file.read(size))
    return path
