"""What queries give, ours and those of Spark's Kafka source over a real broker; and the page that shows both.

`python -m tests.spark.option_outcomes` starts a broker, asks Spark's source all cases, and writes what it said into
tests/data/spark-options.json, the broker's topics into tests/data/spark-options.tar.gz, and the page anew. With
`--page`: only the page, from what was recorded.
"""

from __future__ import annotations

import json
import re
import sys
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.spark.option_cases import CASES, DIFFERENCES, T0, Case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATA = Path(__file__).parents[1] / "data"
RECORDED, LOGS = DATA / "spark-options.json", DATA / "spark-options.tar.gz"
PAGE = Path(__file__).parents[2] / "docs" / "spark-source.md"
PART = re.compile(r"(?<=<!-- recorded: comparison -->\n).*?(?=<!-- end -->)", re.DOTALL)
Outcome = dict[str, str]  # "rows" or "error"
Key = tuple[str, str, str]  # option, value, batch or stream


def shown(rows: Iterable[tuple[str, int, int]]) -> str:
    """Rows as the page has them: the offsets of each partition."""
    offsets: dict[tuple[str, int], list[int]] = defaultdict(list)
    for topic, partition, offset in sorted(rows):
        offsets[topic, partition].append(offset)
    parts = []
    for (topic, partition), found in offsets.items():
        whole = found == list(range(found[0], found[-1] + 1))
        parts.append(f"{topic}-{partition}: {f'{found[0]} to {found[-1]}' if whole else ' '.join(map(str, found))}")
    return ", ".join(parts) or "no rows"


def ours(logs: Path, case: Case, mode: str) -> Outcome:
    """Our source's answer, from the reader that Spark would call."""
    from octavo.errors import OctavoError
    from octavo.spark.batch_reader import batch_reader
    from octavo.spark.source_options import SourceOptions
    from octavo.spark.stream_reader import stream_reader

    options = {"path": str(logs), **case.given(mode)}
    try:
        schema = SourceOptions.of(options).schema()
        rows: list[tuple[str, int, int]] = []
        if mode == "batch":
            reader: Any = batch_reader(options, schema)
            for partition in reader.partitions():
                rows += _rows(reader.read(partition))
        else:
            reader = stream_reader(options, schema)
            reader.prepareForTriggerAvailableNow()
            start, limit = reader.initialOffset(), reader.getDefaultReadLimit()
            while (end := reader.latestOffset(start, limit)) != start:
                for partition in reader.partitions(start, end):
                    rows += _rows(reader.read(partition))
                start = end
    except OctavoError as error:
        return {"error": str(error).replace(str(logs), "logs")}
    return {"rows": shown(rows)}


def _rows(batches: Iterable[Any]) -> list[tuple[str, int, int]]:
    return [
        row
        for batch in batches
        for row in zip(*(batch[name].to_pylist() for name in ("topic", "partition", "offset")), strict=True)
    ]


def theirs(spark: SparkSession, servers: str, case: Case, mode: str) -> Outcome:
    """The answer of Spark's Kafka source."""
    from pyspark.errors import PySparkException

    address = {"kafka.bootstrap.servers": servers, "kafkaConsumer.pollTimeoutMs": "3000"}
    options = {**address, **case.given(mode)}
    try:
        if mode == "batch":
            frame = spark.read.format("kafka").options(**options).load()
        else:
            stream = spark.readStream.format("kafka").options(**options).load()
            writer = stream.writeStream.format("memory").queryName("compared").trigger(availableNow=True)
            writer.start().awaitTermination()
            frame = spark.table("compared")
        rows = frame.select("topic", "partition", "offset").collect()
    except PySparkException as error:
        return {"error": _sentence(str(error))}
    except Exception as error:  # what py4j does not translate
        return {"error": _sentence(str(error))}
    return {"rows": shown((row.topic, row.partition, row.offset) for row in rows)}


def _sentence(text: str) -> str:
    """What an error says, without the query's ids, stack traces and addresses."""
    text = re.sub(r"\s*(SQLSTATE: \w+)?\s*=== Streaming Query ===.*", "", text, flags=re.DOTALL)
    text = re.sub(r"\[STREAM_FAILED\] Query \[.*?\] terminated with exception: ", "", text)
    text = re.sub(r"^Job aborted due to stage failure: .*?executor driver\): ", "", text, flags=re.DOTALL)
    causes = re.findall(r"(?:Caused by: )?(?:java|org|scala)\.[\w.$]+(?:Exception|Error): ([^\n]*)", text)
    text = causes[0] if causes and text.startswith("An error") else text
    return re.sub(r"\s+", " ", text.split("\n\tat ")[0]).strip()[:400]


def recorded() -> dict[Key, Outcome]:
    """What Spark's source answered when it was asked."""
    return {(row["option"], row["value"], row["mode"]): row["kafka"] for row in json.loads(RECORDED.read_text())}


def unpack(folder: Path) -> Path:
    """The broker's log directory as it was then."""
    with tarfile.open(LOGS) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", None)
        tar.extractall(folder)
    return folder / "logs"


def compared(logs: Path) -> dict[Key, tuple[Outcome, Outcome]]:
    """Theirs and ours, of all cases."""
    known = recorded()
    return {
        (case.option, case.value, mode): (known[case.option, case.value, mode], ours(logs, case, mode))
        for case in CASES
        for mode in case.modes
    }


def page(outcomes: dict[Key, tuple[Outcome, Outcome]]) -> str:
    """The table: a row a query."""
    lines = ["| option | value | query | Spark's Kafka source | octavo |", "|---|---|---|---|---|"]
    for (option, value, mode), (kafka, octavo) in outcomes.items():
        cells = [option, f"`{value}`" if value else "", mode, _cell(kafka), _cell(octavo)]
        if kafka.get("rows") == octavo.get("rows") and "rows" in kafka:
            cells[-1] = "the same"
        elif (option, value, mode) in DIFFERENCES:
            cells[-1] += f" ({DIFFERENCES[option, value, mode]})"
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(outcome: Outcome) -> str:
    return outcome["rows"] if "rows" in outcome else f"error: {outcome['error']}"


def write_page(logs: Path) -> None:
    table = page(compared(logs))
    PAGE.write_text(PART.sub(lambda _: table, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def fill(jvm: Any, servers: str) -> None:
    """The topics that the cases read."""
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
    """Records a second apart; some have no key, no value, or headers."""
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
    from tests.spark.conftest import start_session

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
                outcome = {kind: text.replace(broker.bootstrap_servers, "broker") for kind, text in outcome.items()}
                rows.append({"option": case.option, "value": case.value, "mode": mode, "kafka": outcome})
                print(case.option, case.value, mode, outcome, flush=True)
        spark.stop()
        broker.stop()
        RECORDED.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
        with tarfile.open(LOGS, "w:gz") as tar:
            for path in sorted(broker.log_dir.iterdir()):
                if not path.name.startswith("__"):
                    tar.add(path, f"logs/{path.name}")
        write_page(broker.log_dir)


if __name__ == "__main__":
    if sys.argv[1:] == ["--page"]:
        with tempfile.TemporaryDirectory() as folder:
            write_page(unpack(Path(folder)))
    else:
        main()
