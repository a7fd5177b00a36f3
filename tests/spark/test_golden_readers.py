"""The readers on every golden archive, called as Spark calls them: they give what a real client read, in batch and
stream."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed (pip install octavo[spark])")

from octavo.spark.query.source_options import SourceOptions
from octavo.spark.source.batch_reader import batch_reader
from octavo.spark.source.stream_reader import stream_reader
from tests.golden.client_records import WITH_RECORDS, Row, expected, log_dirs, text

KINDS = {0: "CreateTime", 1: "LogAppendTime", -1: "NoTimestampType"}
Found = dict[tuple[str, int], list[Row]]


def options_for(archive: str, isolation: str) -> dict[str, str]:
    topics = sorted({topic for level, topic, _ in expected(archive) if level == isolation})
    paths = json.dumps([str(path) for path in log_dirs(archive)])
    start = {"subscribe": ",".join(topics), "startingOffsets": "earliest", "includeHeaders": "true"}
    return {"paths": paths, "isolationLevel": isolation, **start}


def add(found: Found, batches: Iterable[Any]) -> None:
    for batch in batches:
        stamps = batch["timestamp"].cast("int64").to_pylist()
        for row, stamp in zip(batch.to_pylist(), stamps, strict=True):
            headers = [[header["key"], text(header["value"])] for header in row["headers"] or []]
            kind = KINDS[row["timestampType"]]
            values = row["offset"], stamp // 1000, kind, text(row["key"]), text(row["value"]), headers
            found[row["topic"], row["partition"]].append(values)


@pytest.mark.parametrize("archive", WITH_RECORDS)
def test_readers_give_what_a_real_client_read(archive: str) -> None:
    table = expected(archive)
    for isolation in sorted({isolation for isolation, _, _ in table}):
        wanted = {(topic, partition): rows for (level, topic, partition), rows in table.items() if level == isolation}
        options = options_for(archive, isolation)
        schema = SourceOptions.of(options).schema()
        batch: Any = batch_reader(options, schema)
        read: Found = defaultdict(list)
        for partition in batch.partitions():
            add(read, batch.read(partition))
        assert read == wanted, (isolation, "batch")
        most = max(sum(map(len, wanted.values())) // 3, 1)
        stream = stream_reader({**options, "maxOffsetsPerTrigger": str(most)}, schema)
        stream.prepareForTriggerAvailableNow()
        streamed: Found = defaultdict(list)
        start, limit = stream.initialOffset(), stream.getDefaultReadLimit()
        while (end := stream.latestOffset(start, limit)) != start:
            for partition in stream.partitions(start, end):
                add(streamed, stream.read(partition))
            start = end
        assert streamed == wanted, (isolation, "stream")
