"""commitGroup: a stream's progress as a group's offsets, while nobody holds the directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import octavo
from octavo.errors import ConfigError, LogDirLockedError

pytest.importorskip("pyspark", reason="pyspark is not installed (pip install octavo[spark])")

from octavo.spark.query.source_options import SourceOptions
from octavo.spark.source.stream_reader import StreamReader, stream_reader
from tests.spark.queries import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GROUP = {"commitGroup": "reports", "startingOffsets": "earliest"}


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    with octavo.LogDir(tmp_path / "logs", create=True, configs={"offsets.topic.num.partitions": 3}) as log_dir:
        log_dir.create_topic("orders", partitions=2)
        with log_dir.producer() as producer:
            for number in range(90):
                producer.send("orders", value=str(number), partition=number % 2)
    return tmp_path / "logs"


def reader(logs: Path, **options: str) -> StreamReader:
    given: dict[str, Any] = {"path": str(logs), **GROUP, **options}
    return stream_reader(given, SourceOptions.of(given).schema())


def committed(logs: Path) -> dict[int, int]:
    with octavo.LogDir(logs) as log_dir, log_dir.consumer("orders", group="reports") as consumer:
        found = {number: consumer.committed(("orders", number)) for number in range(2)}
    return {number: offset.offset for number, offset in found.items() if offset is not None}


def test_each_commit_is_the_groups_next_offset(logs: Path) -> None:
    stream = reader(logs)
    start = stream.initialOffset()
    assert committed(logs) == {}
    stream.latestOffset(start, stream.getDefaultReadLimit())
    assert committed(logs) == {0: 0, 1: 0}, "the lag shows before the first micro-batch"
    stream.commit({"orders": {"0": 7, "1": 3}, "deleted": {"0": 5}})
    stream.commit({"orders": {"0": 9, "1": 3}})
    assert committed(logs) == {0: 9, 1: 3}


def test_a_directory_that_another_holds_is_refused_before_a_record_is_read(logs: Path) -> None:
    stream = reader(logs, lockTimeout="0s")
    start = stream.initialOffset()
    with octavo.LogDir(logs):
        with pytest.raises(LogDirLockedError, match=r"commitGroup writes the stream's offsets there"):
            stream.latestOffset(start, stream.getDefaultReadLimit())
        with pytest.raises(LogDirLockedError, match=r"leave commitGroup out"):
            stream.commit({"orders": {"0": 7}})
    stream.commit({"orders": {"0": 7}})
    assert committed(logs) == {0: 7}


def test_only_whole_local_directories_can_have_a_group(logs: Path) -> None:
    for place in (logs / "orders-0", "s3://bucket/logs"):
        with pytest.raises(ConfigError, match="give whole local log directories"):
            reader(logs, path=str(place))
    with pytest.raises(ConfigError, match="commitGroup is empty"):
        reader(logs, commitGroup=" ")


def test_a_query_commits_what_it_has_read(spark: SparkSession, logs: Path) -> None:
    stream = spark.readStream.format("octavo").options(**GROUP, maxOffsetsPerTrigger="30").load(str(logs))
    run(stream.writeStream.format("memory").queryName("grouped"))
    assert spark.table("grouped").count() == 90
    assert committed(logs) == {0: 45, 1: 45}
