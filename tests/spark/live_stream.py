"""Streams over the directory of a real broker that appends, rolls, compacts, deletes, and adds partitions.

`python -m tests.spark.live_stream FOLDER SECONDS`: a separate program, which checks its two streams in turn, one per
second. Spark calls back for every micro-batch, and py4j listens with select, which accepts no descriptor above 1023; a
process that has run many tests has more of them.
"""

from __future__ import annotations

import itertools
import math
import random
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import octavo
from tests.interop.broker import KAFKA_VERSION, Broker
from tests.interop.clients import Acknowledged
from tests.interop.growing_topic import GrowingTopic
from tests.interop.jars import kafka_jars
from tests.interop.workload import Workload
from tests.spark.queries import run, start
from tests.spark.sessions import start_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

LEAST_BATCHES = 4
MOST_PARTITIONS = 4
LOOK_SECONDS = 1
MOST_LOOKS = 300  # at the streams, after the given seconds
MOST_SCANS = 10_000  # in search of gaps: the cleaner comes after some seconds, a scan takes milliseconds
Content = tuple[bytes | None, bytes | None]


def content(value: bytearray | None) -> bytes | None:
    return None if value is None else bytes(value)


class Streamed:
    """What a query's micro-batches brought. Offsets must go up, so that nothing comes twice or out of order."""

    def __init__(self, frame: DataFrame, checkpoint: Path) -> None:
        self.batches: set[int] = set()
        self.records: dict[tuple[str, int], dict[int, Content]] = defaultdict(dict)
        self.writer = frame.writeStream.foreachBatch(self._take).option("checkpointLocation", str(checkpoint))
        self._last: dict[tuple[str, int], int] = defaultdict(lambda: -1)
        self._query: StreamingQuery | None = None

    def start(self) -> None:
        self._query = start(self.writer)

    def check(self) -> None:
        """Wait a little for more batches, and raise the query's error if it has one."""
        assert self._query is not None
        self._query.awaitTermination(LOOK_SECONDS)
        error = self._query.exception()
        if error is not None:
            raise error

    def finish(self) -> None:
        """Stop, and read what is left."""
        assert self._query is not None
        self._query.stop()
        run(self.writer)

    def _take(self, rows: DataFrame, batch_id: int) -> None:
        """A batch that is interrupted after this call comes again, with the same id, and is then ignored."""
        if batch_id in self.batches:
            return
        found = rows.collect()
        self.batches.add(batch_id)
        for row in found:
            place = row.topic, row.partition
            assert row.offset > self._last[place], f"{place}: {row.offset} after {self._last[place]}"
            self._last[place] = row.offset
            self.records[place][row.offset] = content(row.key), content(row.value)


def streamed(spark: SparkSession, broker: Broker, checkpoint: Path, **options: str) -> Streamed:
    given = {"startingOffsets": "earliest", "columns": "topic,partition,offset,key,value", **options}
    return Streamed(spark.readStream.format("octavo").options(**given).load(str(broker.log_dir)), checkpoint)


def main(folder: Path, seconds: float) -> None:
    import jpype

    jars = [str(jar) for jar in kafka_jars(KAFKA_VERSION)]
    jpype.startJVM("-Xmx512m", "-Dlog4j2.StatusLogger.level=OFF", classpath=jars, convertStrings=False)
    broker = Broker(folder / "broker")
    broker.start()
    try:
        stream(jpype, broker, folder, seconds)
    finally:
        broker.kill()


def stream(jvm: ModuleType, broker: Broker, folder: Path, seconds: float) -> None:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}", flush=True)
    workload = Workload(jvm, broker.bootstrap_servers, "live", seed)
    growing = GrowingTopic(jvm, broker.bootstrap_servers, "growing", seed)
    growing.start()
    workload.start()
    (folder / "spark").mkdir()
    spark = start_session("local[2]", str(folder / "spark"))
    # Retention and the deletion of topics may remove records before they are read, as with any consumer: not a failure.
    lenient = streamed(
        spark,
        broker,
        folder / "lenient",
        subscribePattern="^live[.]",
        failOnDataLoss="false",
        isolationLevel="read_committed",
    )
    strict = streamed(spark, broker, folder / "strict", subscribe=growing.name, failOnDataLoss="true")
    for _ in range(MOST_SCANS):
        assert growing.errors == []
        if has_gaps(broker, growing):
            break
    else:
        raise AssertionError(
            f"{MOST_SCANS} scans of {growing.name} found all offsets, expected compaction to remove some"
        )
    both = lenient, strict
    for query in both:
        query.start()
    least_looks = math.ceil(seconds / LOOK_SECONDS)
    for look, query in zip(range(least_looks + MOST_LOOKS), itertools.cycle(both), strict=False):
        if look >= least_looks and len(strict.records) == MOST_PARTITIONS and are_moving(both):
            break
        query.check()
        assert workload.errors == growing.errors == []
        if len(strict.records) == growing.partitions < MOST_PARTITIONS:
            growing.grow()
    else:
        found = f"{len(strict.records)} partitions, {[len(query.batches) for query in both]} micro-batches"
        raise AssertionError(f"{found}, expected {MOST_PARTITIONS} and at least {LEAST_BATCHES} of each stream")
    workload.stop()
    growing.stop()
    for query in both:
        query.finish()
    assert workload.errors == growing.errors == []
    check_workload(lenient, workload)
    check_compacted(strict, growing.acknowledged())
    spark.stop()
    batches, records = (sum(map(len, sets)) for sets in ([q.batches for q in both], strict.records.values()))
    print(f"{batches} micro-batches; {records} records in {len(strict.records)} compacted partitions")


def has_gaps(broker: Broker, growing: GrowingTopic) -> bool:
    """Whether the cleaner has removed records, so that a stream from the earliest offset meets gaps."""
    places = octavo.scan(broker.log_dir, topics=growing.name, columns=["partition", "offset"]).to_table()
    found = places.group_by("partition").aggregate([("offset", "max"), ("offset", "count")]).to_pylist()
    return any(row["offset_count"] <= row["offset_max"] for row in found)


def are_moving(queries: tuple[Streamed, ...]) -> bool:
    return all(len(query.batches) >= LEAST_BATCHES for query in queries)


def check_workload(found: Streamed, workload: Workload) -> None:
    """Everything acknowledged must be there, except what was deleted or aborted; and nothing else."""

    def rows(topic: str) -> dict[int, Content]:
        return found.records[topic, 0]

    plain = {record.offset: (record.key, record.value) for record in workload.acknowledged(workload.plain)}
    assert rows(workload.plain) == plain
    committed = {record.offset: (record.key, record.value) for record in workload.committed()}
    assert {offset: rows(workload.transactional).get(offset) for offset in committed} == committed
    check_compacted(found, workload.acknowledged(workload.compacted))
    for topic in (workload.retained, workload.transactional):
        sent = {record.offset: (record.key, record.value) for record in workload.acknowledged(topic)}
        assert {offset: row for offset, row in rows(topic).items() if sent.get(offset) != row} == {}


def check_compacted(found: Streamed, acknowledged: list[Acknowledged]) -> None:
    """The newest record of each key must have been read, unless it is a tombstone; and nothing that was not written."""
    newest: dict[tuple[int, bytes | None], Acknowledged] = {}
    sent: dict[tuple[str, int], dict[int, Content]] = defaultdict(dict)
    for record in acknowledged:
        newest[record.partition, record.key] = record
        sent[record.topic, record.partition][record.offset] = record.key, record.value
    for place, contents in sent.items():
        rows = found.records[place]
        assert {offset: row for offset, row in rows.items() if contents.get(offset) != row} == {}
    for record in newest.values():
        rows = found.records[record.topic, record.partition]
        assert record.value is None or rows.get(record.offset) == (record.key, record.value)


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
