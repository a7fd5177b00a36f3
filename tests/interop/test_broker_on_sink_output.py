"""The Spark sink writes into a stopped broker's directory; the broker starts on it, and a real consumer reads it."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

from octavo.storage.staging.commit import CommitRequest, CommitStep
from tests.interop.broker import Broker
from tests.interop.clients import Admin, Consumer, Producer
from tests.storage.staging.scene import StopAt
from tests.storage.worlds import Stopped

pytest.importorskip("pyspark", reason="pyspark is not installed (pip install octavo[spark])")

pytestmark = pytest.mark.kafka

SEGMENT_BYTES = 1 << 20  # the smallest that 4.3.1 accepts
SMALL, LARGE = 5, 7000  # records of 100 bytes: the large sets are adopted as segments
TOPICS = ("a", "b")


def rows(first: int, count: int) -> Any:
    """Rows of two topics, numbered consecutively."""
    numbers = range(first, first + count)
    return pa.record_batch(
        {
            "topic": pa.array([topic for topic in TOPICS for _ in numbers]),
            "key": pa.array([b"%d" % number for _ in TOPICS for number in numbers]),
            "value": pa.array([b"%07d" % number + bytes(85) for _ in TOPICS for number in numbers]),
        }
    )


def test_a_broker_starts_on_what_the_sink_wrote(jvm: ModuleType, tmp_path: Path) -> None:
    from pyspark.sql.types import BinaryType, StringType, StructField, StructType

    from octavo.spark.sink.sink import OctavoStreamWriter, commit, staged_parts

    broker = Broker(tmp_path / "broker")
    broker.start()
    try:
        admin = Admin(jvm, broker.bootstrap_servers)
        for topic in TOPICS:
            admin.create(topic, segment_bytes=str(SEGMENT_BYTES))
        admin.close()
        producer = Producer(jvm, broker.bootstrap_servers)
        for topic in TOPICS:
            producer.send(topic, [(b"k", b"from the broker")])
        producer.close()
        broker.stop()

        (tmp_path / "checkpoint").mkdir()
        (tmp_path / "checkpoint" / "metadata").write_text(json.dumps({"id": "query"}))
        options = {"path": str(broker.log_dir), "checkpointLocation": str(tmp_path / "checkpoint")}
        binary = BinaryType()
        fields = [StructField("topic", StringType()), StructField("key", binary), StructField("value", binary)]
        writer = OctavoStreamWriter(options, StructType(fields))
        written = 0
        for batch_id, count in enumerate([SMALL, LARGE, SMALL, SMALL]):
            message = writer.write(iter([rows(written, count)]))
            writer.commit([message], batch_id)
            writer.commit([message], batch_id)
            written += count
        assert sorted(path.name for path in (broker.log_dir / "a-0").glob("*.log")) == [
            f"{base:020}.log" for base in (0, 1 + SMALL)
        ]
        writer.write(iter([rows(0, 3)]))  # a task whose driver died: its files stay, and do no harm
        message = writer.write(iter([rows(written, SMALL)]))
        with pytest.raises(Stopped):  # and a commit that reached one topic, but not the other
            commit(writer.sink, CommitRequest(writer.writer, 4, staged_parts([message])), StopAt(CommitStep.APPENDED))

        expected = [b"from the broker", *(b"%07d" % number + bytes(85) for number in range(written))]
        half = [b"%07d" % number + bytes(85) for number in range(written, written + SMALL)]
        broker.start()
        read = consumed(jvm, broker)
        assert read == {"a": [*expected, *half], "b": expected}
        producer = Producer(jvm, broker.bootstrap_servers)
        for topic in TOPICS:
            producer.send(topic, [(b"k", b"again")])
        producer.close()
        broker.stop()

        writer.commit([writer.write(iter([rows(written, SMALL)]))], 4)
        assert not list(broker.log_dir.rglob("*.staged"))
        broker.start()
        again = b"again"
        assert consumed(jvm, broker) == {"a": [*expected, *half, again], "b": [*expected, again, *half]}
    finally:
        broker.kill()
    assert not list(broker.log_dir.glob("*-stray"))


def consumed(jvm: ModuleType, broker: Broker) -> dict[str, list[bytes | None]]:
    consumer = Consumer(jvm, broker.bootstrap_servers)
    found = {topic: [record.value for record in consumer.read(topic)] for topic in TOPICS}
    consumer.close()
    return found
