"""Directories of a real broker that Octavo opened, recovered and appended to, given back to a real broker."""

from __future__ import annotations

import base64
import shutil
import time
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest

from octavo.format.batches.batch import build_batch
from octavo.format.record import Record
from octavo.storage.environment import Environment
from octavo.storage.log_manager import LogManager
from octavo.system.scheduler import EndScheduler
from tests.golden.archives import entry, records, unpack
from tests.interop.broker import Broker
from tests.interop.clients import Consumer

pytestmark = pytest.mark.kafka

# Nothing may be removed while it is compared.
KEEPING = {
    "log.initial.task.delay.ms": "3600000",
    "log.cleaner.enable": "false",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "3600000",  # old transactions stay open meanwhile
}
ISOLATIONS = "read_uncommitted", "read_committed"
# Offset, timestamp, key, value.
Row = tuple[int, int, bytes | None, bytes | None]


def golden_rows(archive: str) -> dict[str, dict[str, list[Row]]]:
    """What a real client had read from partition 0 of each topic, by isolation level and topic."""
    found: dict[str, dict[str, list[Row]]] = {isolation: defaultdict(list) for isolation in ISOLATIONS}
    for row in records(archive):
        if row["partition"] == 0 and not row["topic"].startswith("__"):
            content = _content(row["key"]), _content(row["value"])
            found[row["isolation"]][row["topic"]].append((row["offset"], row["timestamp"], *content))
    return found


def _content(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def append_everywhere(log_dir: Path, rows: dict[str, dict[str, list[Row]]]) -> None:
    """Octavo opens the directory, adds a record to each topic, and stops cleanly."""
    with LogManager(log_dir, environment=Environment(EndScheduler(runs_at_end=False))) as logs:
        for topic, expected in rows["read_uncommitted"].items():
            log = logs.log(topic, 0)
            record = Record(0, time.time_ns() // 1_000_000, b"octavo", topic.encode())
            result = log.append_as_leader(build_batch([record]), leader_epoch=log.epochs.latest_epoch or 0)
            stamp = record.timestamp if result.log_append_time < 0 else result.log_append_time
            added = result.first_offset, stamp, record.key, record.value
            if log.last_stable_offset == log.log_end_offset:
                rows["read_committed"][topic].append(added)
            expected.append(added)


@pytest.mark.parametrize("archive", ["v431-clean", "v431-killed"])
def test_broker_starts_where_octavo_stopped(archive: str, jvm: ModuleType, tmp_path: Path) -> None:
    log_dir = tmp_path / "logs"
    shutil.copytree(unpack(archive), log_dir)
    rows = golden_rows(archive)
    append_everywhere(log_dir, rows)
    static_voters = "controller.quorum.voters" in entry(archive)["broker_config"]
    broker = Broker(tmp_path / "broker", KEEPING, log_dir=log_dir, static_voters=static_voters)
    broker.start()
    try:
        for isolation in ISOLATIONS:
            consumer = Consumer(jvm, broker.bootstrap_servers, isolation)
            for topic, expected in rows[isolation].items():
                read = [(one.offset, one.timestamp, one.key, one.value) for one in consumer.read(topic)]
                assert read == expected, topic
            consumer.close()
    finally:
        broker.kill()
    assert not list(log_dir.glob("*-stray"))
