"""A driver whose tasks get speculative copies, on a cluster whose workers claim to be different machines.

`python -m … MASTER FOLDER`. (Spark does not run two attempts of a task on one machine, so local-cluster has no
speculation.)
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import octavo
from octavo.spark import compact, reindex, upgrade
from tests.spark.sessions import CONFS, start_session
from tests.spark.sink_runs import ROWS, produce

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.minTaskRuntime": "100ms",
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10",
    "spark.driver.host": "127.0.0.1",
}
PATIENCE_SECONDS = 120


def main(master: str, folder: str) -> None:
    CONFS.update(SPECULATION)
    session = start_session(master, f"{folder}/spark")
    produce(session, Path(folder) / "in", 0)
    rows = session.range(0, ROWS, numPartitions=4).selectExpr("cast(id as string) key", "cast(id as string) value")
    writer = slow_once(rows, f"{folder}/batch").write.format("octavo").mode("append")
    writer.option("topic", "batch").option("partitions", 3).save(f"{folder}/out")
    reader = session.readStream.format("octavo").option("subscribe", "input").option("startingOffsets", "earliest")
    rows = reader.option("minPartitions", 4).load(f"{folder}/in").select("key", "value")
    stream = slow_once(rows, f"{folder}/stream").writeStream.format("octavo").option("topic", "stream")
    stream = stream.option("partitions", 3).option("checkpointLocation", f"{folder}/checkpoint")
    stream.trigger(availableNow=True).start(f"{folder}/out").awaitTermination()
    for job in (compact, reindex, upgrade):
        try:
            job(session, f"{folder}/out")
        except octavo.ConfigError as error:
            assert "spark.speculation" in str(error)
        else:
            raise AssertionError(f"{job.__name__} would write to the same files twice")
    session.stop()


def slow_once(rows: DataFrame, marks: str) -> DataFrame:
    """Rows whose first task stops once, after its first rows, until another attempt at it has got as far."""
    Path(marks).mkdir()

    def wait(batches: Any) -> Any:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        for number, batch in enumerate(batches):
            yield batch
            if context.partitionId() == 0 and number == 0:
                Path(marks, str(context.attemptNumber())).touch()
                end = time.monotonic() + PATIENCE_SECONDS
                while context.attemptNumber() == 0 and not Path(marks, "1").exists() and time.monotonic() < end:
                    time.sleep(0.05)

    return rows.mapInArrow(wait, rows.schema)


if __name__ == "__main__":
    main(*sys.argv[1:])
