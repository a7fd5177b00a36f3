"""A broker on a directory that Octavo compacted: it serves the survivors, and its own cleaner continues from there."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path
from types import ModuleType

import pytest

from octavo.format.names import TopicPartition
from octavo.jobs.compact import Compaction, CompactRequest
from octavo.scanner.api import scan
from octavo.storage.directory.checkpoints import read_offsets
from octavo.storage.log_manager import LogManager
from octavo.system.filesystem import LocalFileSystem
from octavo.system.runner import ThreadRunner
from tests.golden.archives import unpack
from tests.interop.broker import Broker
from tests.interop.clients import Admin, Consumer, Producer

pytestmark = pytest.mark.kafka

PLAIN = TopicPartition("compact.plain", 0)
KEEPING = {"log.initial.task.delay.ms": "3600000", "log.cleaner.threads": "1"}
PATIENCE_SECONDS = 60


def compacted(root: Path) -> dict[str, list[tuple[int, bytes | None, bytes | None]]]:
    """Compact every compacted topic of the directory; returns what is left of each, except for Kafka's own topics."""
    with LogManager(root, background=False) as logs:
        rows = list(Compaction(CompactRequest(force=True), logs).rows(ThreadRunner()))
        assert not any(row.error for row in rows)
    cleaned = {row.topic_partition.topic for row in rows if row.cleaned is not None}
    topics = {topic for topic in cleaned if not topic.startswith("__")}
    assert len(topics) >= 6
    survivors = scan(root, sorted(topics), 0, isolation_level="read_committed")
    found: dict[str, list[tuple[int, bytes | None, bytes | None]]] = {topic: [] for topic in topics}
    for record in survivors:
        found[record.topic].append((record.offset, record.key, record.value))
    return found


def cleaner_offset(root: Path) -> int:
    return read_offsets(LocalFileSystem(), root / "cleaner-offset-checkpoint")[PLAIN]


def test_broker_serves_the_survivors_and_its_cleaner_goes_on(jvm: ModuleType, tmp_path: Path) -> None:
    root = tmp_path / "logs"
    shutil.copytree(unpack("v431-clean"), root)
    rows = compacted(root)
    clean_up_to = cleaner_offset(root)
    broker = Broker(tmp_path / "broker", KEEPING, log_dir=root)
    broker.start()
    try:
        consumer = Consumer(jvm, broker.bootstrap_servers, "read_committed")
        for topic, expected in rows.items():
            read = [(record.offset, record.key, record.value) for record in consumer.read(topic)]
            assert read == expected, topic
        producer = Producer(jvm, broker.bootstrap_servers, batch_size="0")
        keys = sorted({key for _, key, _ in rows[PLAIN.topic] if key})
        added = producer.send(PLAIN.topic, [(key, b"%d" % number) for number in range(40) for key in keys[:5]])
        producer.close()
        admin = Admin(jvm, broker.bootstrap_servers)
        admin.alter(PLAIN.topic, "min.cleanable.dirty.ratio", "0.01")
        admin.close()
        end = time.monotonic() + PATIENCE_SECONDS
        while cleaner_offset(root) <= clean_up_to:
            assert time.monotonic() < end, broker.output.read_text(errors="replace")[-2000:]
        found = consumer.read(PLAIN.topic)
        consumer.close()
    finally:
        broker.stop()
    last = {record.key: record.value for record in found}
    assert {key: last[key] for key in keys[:5]} == dict.fromkeys(keys[:5], b"39")
    assert len(found) < len(rows[PLAIN.topic]) + len(added)
    said = broker.output.read_text(errors="replace")
    begun = re.findall(r"Building offset map for log compact\.plain-0 for \d+ segments in offset range \[(\d+), ", said)
    assert begun and int(begun[0]) == clean_up_to, said[-2000:]
    assert not list(root.glob("*-stray"))
