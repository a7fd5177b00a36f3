"""Rows through the sink in a session, and what is on disk afterwards."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import octavo

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


ROWS = 300


def produce(spark: SparkSession, root: Path, start: int, rows: int = ROWS) -> None:
    """Append rows to the topic `input`, of three partitions, with the sink itself."""
    frame = spark.range(start, start + rows, numPartitions=2).selectExpr(
        "cast(id as string) key", "cast(id as string) value"
    )
    frame.write.format("octavo").option("topic", "input").option("partitions", 3).mode("append").save(str(root))


def copy_stream(
    spark: SparkSession, folder: Path, *, sink: str = "octavo", most: int = ROWS, checkpoint: str = "checkpoint"
) -> Any:
    """A query from the topic `input` to `output` in another directory, up to the current end."""
    reader = spark.readStream.format("octavo").option("subscribe", "input").option("startingOffsets", "earliest")
    rows = reader.option("maxOffsetsPerTrigger", most).load(str(folder / "in")).select("key", "value")
    writer = rows.writeStream.format(sink).option("topic", "output").option("partitions", 3)
    writer = writer.option("checkpointLocation", str(folder / checkpoint)).trigger(availableNow=True)
    return writer.start(str(folder / "out"))


def values(root: Path, topic: str = "output") -> Counter[bytes]:
    return Counter(octavo.scan(root, topics=[topic]).to_table().column("value").to_pylist())


def numbers(count: int, start: int = 0) -> Counter[bytes]:
    return Counter(b"%d" % number for number in range(start, count))


def staged(root: Path) -> list[str]:
    return [path.name for path in root.rglob("*.staged")]
