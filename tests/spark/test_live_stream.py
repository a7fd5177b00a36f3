"""A stream over the directory of a real broker that appends, rolls, compacts, deletes and loses topics meanwhile."""

from __future__ import annotations

import os
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from tests.interop.broker import Broker
from tests.interop.conftest import broker, jvm  # noqa: F401 - fixtures
from tests.interop.workload import Workload

pytest.importorskip("pyspark", reason="pyspark is not installed (pip install octavo[spark])")

from tests.spark.queries import run, start

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LIVE_SECONDS = "OCTAVO_LIVE_SECONDS"
SECONDS = float(os.environ.get(LIVE_SECONDS, "15"))
pytestmark = [
    pytest.mark.kafka,
    # Spark calls back for every micro-batch, and py4j listens by select, which takes no descriptor beyond 1023: a
    # process that has run many other tests has more of them.
    pytest.mark.skipif(LIVE_SECONDS not in os.environ, reason=f"needs a process of its own: {LIVE_SECONDS}=15"),
]
LEAST_BATCHES = 4
Content = tuple[bytes | None, bytes | None]


@pytest.fixture
def workload(jvm: ModuleType, broker: Broker) -> Iterator[Workload]:  # noqa: F811
    busy = Workload(jvm, broker.bootstrap_servers, f"stream-{os.getpid()}", seed=random.randrange(1 << 30))
    busy.start()
    yield busy
    busy.stop()


def content(value: bytearray | None) -> bytes | None:
    return None if value is None else bytes(value)


class Streamed:
    """What micro-batches brought, by topic: offsets must go up, so nothing comes twice or out of order."""

    def __init__(self) -> None:
        self.batches: set[int] = set()
        self.records: dict[str, dict[int, Content]] = defaultdict(dict)
        self.disorder: list[tuple[str, int]] = []
        self._last: dict[str, int] = defaultdict(lambda: -1)

    def take(self, rows: DataFrame, batch_id: int) -> None:
        """A batch that was stopped behind this comes again, by the same number."""
        if batch_id in self.batches:
            return
        found = rows.collect()
        self.batches.add(batch_id)
        for row in found:
            if row.offset <= self._last[row.topic]:
                self.disorder.append((row.topic, row.offset))
            self._last[row.topic] = row.offset
            self.records[row.topic][row.offset] = content(row.key), content(row.value)


def test_a_stream_over_a_live_directory_neither_loses_nor_repeats(
    spark: SparkSession,
    broker: Broker,  # noqa: F811
    workload: Workload,
    tmp_path: Path,
) -> None:
    prefix = workload.plain.rpartition(".")[0]
    # Retention and deleted topics take records before they are read, as they do from any consumer: no failure here.
    frame = (
        spark.readStream.format("octavo")
        .options(subscribePattern=f"^{prefix}[.]", startingOffsets="earliest", failOnDataLoss="false")
        .options(isolationLevel="read_committed", columns="topic,offset,key,value")
        .load(str(broker.log_dir))
    )
    streamed = Streamed()
    writer = frame.writeStream.foreachBatch(streamed.take).option("checkpointLocation", str(tmp_path / "checkpoint"))
    end = time.monotonic() + SECONDS
    query = start(writer)
    while time.monotonic() < end or len(streamed.batches) < LEAST_BATCHES:
        assert query.exception() is None
        assert workload.errors == []
        query.awaitTermination(1)
    query.stop()
    workload.stop()
    run(writer)
    assert workload.errors == []
    assert streamed.disorder == []
    assert_nothing_is_lost(streamed, workload)


def assert_nothing_is_lost(streamed: Streamed, workload: Workload) -> None:
    found = streamed.records
    plain = {record.offset: (record.key, record.value) for record in workload.acknowledged(workload.plain)}
    assert found[workload.plain] == plain
    committed = {record.offset: (record.key, record.value) for record in workload.committed()}
    assert {offset: found[workload.transactional].get(offset) for offset in committed} == committed
    for topic in (workload.compacted, workload.retained, workload.transactional):
        sent = {record.offset: (record.key, record.value) for record in workload.acknowledged(topic)}
        assert {offset: row for offset, row in found[topic].items() if sent.get(offset) != row} == {}
    newest = {key: offset for offset, (key, _) in sorted(found[workload.compacted].items())}
    for key, record in {record.key: record for record in workload.acknowledged(workload.compacted)}.items():
        assert record.value is None or newest[key] == record.offset
