"""What Spark's Kafka source answers to the cases, over a real broker.

`python -m tests.spark.kafka_outcomes` starts a broker, asks all cases, and writes the answers to
tests/data/spark-options.json and the broker's topics to tests/data/spark-options.tar.gz; then it updates the table in
docs/spark-source.md.
"""

from __future__ import annotations

import json
import re
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.spark.option_cases import BROKER, CASES, T0, Case
from tests.spark.option_outcomes import LOGS, RECORDED, Outcome, Row, outcome_of, write_page

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# What makes a consumer group's name unique.
_GROUP_ID = re.compile(r"-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(--?[0-9]+)?")
# Exceptions that only wrap another one.
_AROUND = {"StreamingQueryException", "SparkException", "ExecutionException", "KafkaException"}


def theirs(spark: SparkSession, servers: str, case: Case, mode: str) -> Outcome:
    """The answer of Spark's Kafka source."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors.exceptions.captured import CapturedException

    given = {"kafkaConsumer.pollTimeoutMs": "3000", **case.given(mode)}
    options = {name: value.replace(BROKER, servers) for name, value in given.items()}
    try:
        if mode == "batch":
            frame = _compared(spark.read.format("kafka").options(**options).load())
        else:
            stream = _compared(spark.readStream.format("kafka").options(**options).load())
            writer = stream.writeStream.format("memory").queryName("compared").trigger(availableNow=True)
            writer.start().awaitTermination()
            frame = spark.table("compared")
        found = frame.collect()
    except CapturedException as error:
        return _failed(error._origin, servers)
    except Py4JJavaError as error:
        return _failed(error.java_exception, servers)
    rows: list[Row] = []
    for topic, partition, offset, ms, kind, key, value, headers, _ in found:
        rows.append((topic, partition, offset, ms, kind, key, value, headers and [tuple(header) for header in headers]))
    return outcome_of(rows, len({row.task for row in found}) if case.counts_tasks else None)


def _compared(frame: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    headers = F.col("headers") if "headers" in frame.columns else F.lit(None).alias("headers")
    stamp, task = F.unix_millis("timestamp").alias("ms"), F.spark_partition_id().alias("task")
    return frame.select("topic", "partition", "offset", stamp, "timestampType", "key", "value", headers, task)


def _failed(throwable: Any, servers: str) -> Outcome:
    """What an error of the JVM says, without the errors that wrap it."""
    while _type(throwable) in _AROUND and throwable.getCause() is not None:
        throwable = throwable.getCause()
    message = _GROUP_ID.sub("-…", " ".join(str(throwable.getMessage()).split()))
    condition = throwable.getCondition() if _type(throwable).startswith("KafkaIllegal") else None
    return {"error": message.replace(servers, BROKER), "type": condition or _type(throwable)}


def _type(throwable: Any) -> str:
    return str(throwable.getClass().getSimpleName())


def fill(jvm: Any, servers: str) -> None:
    """Create and fill the topics that the cases read."""
    from tests.interop.clients import Admin, Producer

    admin, plain = Admin(jvm, servers), Producer(jvm, servers)
    transactional = Producer(jvm, servers, transactional_id="options")
    for topic, partitions in (("orders", 2), ("orders.v2", 1), ("trimmed", 1), ("txn", 1)):
        admin.create(topic, partitions)
    _send(jvm, plain, "orders", 0, 10)
    _send(jvm, plain, "orders", 1, 5)
    _send(jvm, plain, "orders.v2", 0, 3)
    _send(jvm, plain, "trimmed", 0, 10)
    admin.delete_records("trimmed", 0, 5)
    for count, end in ((3, transactional.commit), (3, transactional.abort), (2, transactional.commit)):
        transactional.begin()
        _send(jvm, transactional, "txn", 0, count)
        end()
    for client in (admin, plain, transactional):
        client.close()


def _send(jvm: Any, producer: Any, topic: str, partition: int, count: int) -> None:
    """Send records with timestamps a second apart; some have no key, no value, or headers."""
    header = jvm.JClass("org.apache.kafka.common.header.internals.RecordHeader")
    for number in range(count):
        key = None if number % 4 == 3 else jvm.JArray.of(b"k%d" % (number % 3), jvm.JByte)
        value = None if number % 5 == 4 else jvm.JArray.of(b"value %d" % number, jvm.JByte)
        headers = jvm.java.util.ArrayList()
        if number % 2:
            headers.add(header("h", jvm.JArray.of(b"x", jvm.JByte)))
        stamp = jvm.java.lang.Long(T0 + 1000 * number)
        record = producer._record(topic, jvm.java.lang.Integer(partition), stamp, key, value, headers)
        producer._producer.send(record).get()


def main() -> None:
    import jpype

    from tests.interop.broker import KAFKA_VERSION, Broker
    from tests.interop.jars import kafka_jars
    from tests.spark.sessions import start_session

    jars = [str(jar) for jar in kafka_jars(KAFKA_VERSION)]
    jpype.startJVM("-Dlog4j2.StatusLogger.level=OFF", classpath=jars, convertStrings=False)
    with tempfile.TemporaryDirectory() as folder:
        broker = Broker(Path(folder) / "broker")
        broker.start()
        fill(jpype, broker.bootstrap_servers)
        spark = start_session("local[2]", folder)
        rows = []
        for case in CASES:
            for mode in case.modes:
                outcome = theirs(spark, broker.bootstrap_servers, case, mode)
                rows.append({"option": case.option, "value": case.value, "mode": mode, "kafka": outcome})
                print(case.option, case.value, mode, outcome, flush=True)
        spark.stop()
        broker.stop()
        RECORDED.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
        with tarfile.open(LOGS, "w:gz") as tar:
            for path in sorted(broker.log_dir.iterdir()):
                if not path.name.startswith("__"):
                    tar.add(path, f"logs/{path.name}")
    write_page()


if __name__ == "__main__":
    main()
