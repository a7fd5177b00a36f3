"""The outcomes of writes with our sink, and with Spark's Kafka sink to a real broker; and the page that shows both.

`python -m tests.spark.sink_outcomes` starts a broker, writes all cases with both sinks, and records the
outcomes in tests/data/spark-sink.json and on the page.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import octavo
from tests.spark.sink_cases import CASES, DIFFERENCES, TIME_MS, Case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDED = Path(__file__).parents[1] / "data" / "spark-sink.json"
PAGE = Path(__file__).parents[2] / "docs" / "spark-sink.md"
PART = re.compile(r"(?<=<!-- recorded: comparison -->\n).*?(?=<!-- end -->)", re.DOTALL)
PARTITIONS = 2
Outcome = dict[str, str]  # "rows" or "error"


def topic_of(case: Case) -> str:
    """Each case has its own topic, which exists beforehand."""
    return f"case-{CASES.index(case)}"


def ask(spark: SparkSession, logs: Path, case: Case, sink: dict[str, str]) -> Outcome:
    """Write a case with a sink (its format and options), and read the directory afterwards."""
    topic = topic_of(case)
    options = {**({"topic": topic} if case.has_topic else {}), **case.options, **sink}
    sink_format, path = options.pop("format"), options.pop("path", None)
    try:
        if case.is_stream:
            _stream(spark, logs, case, (sink_format, path, options))
        else:
            frame = spark.sql(f"select {case.columns.replace('TOPIC', topic)}")
            frame.write.format(sink_format).options(**options).mode(case.mode).save(path)
    except Exception as error:
        return {"error": _sentence(str(error), logs).replace(topic, "TOPIC")}
    return {"rows": _rows(logs, topic, str(TIME_MS) in case.columns)}


def _stream(spark: SparkSession, logs: Path, case: Case, sink: tuple[str, str | None, dict[str, str]]) -> None:
    sink_format, path, options = sink
    folder = logs.parent / f"{topic_of(case)}-{sink_format}"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "lines.txt").write_text("a\nb\na\n")
    rows = spark.readStream.schema("value string").text(str(folder / "in"))
    if case.mode != "append":
        rows = rows.groupBy("value").count().selectExpr("value key", "cast(count as string) value")
    writer = rows.writeStream.format(sink_format).options(**options).outputMode(case.mode)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    (writer.start() if path is None else writer.start(path)).awaitTermination()


def _rows(logs: Path, topic: str, with_time: bool) -> str:
    """Rows as shown on the page; the partition of a row without a key is arbitrary, and left out."""
    found = []
    for record in octavo.scan(logs, topics=[topic]).records():
        where = f" in {record.partition}" if record.key is not None else ""
        headers = "".join(f" {header.key}:{_text(header.value)}" for header in record.headers)
        time = f" at the {'column' if record.timestamp == TIME_MS else 'writer'}'s time" if with_time else ""
        found.append(f"{_text(record.key)}={_text(record.value)}{headers}{where}{time}")
    return ", ".join(sorted(found)) or "no rows"


def _text(data: bytes | None) -> str:
    return "null" if data is None else data.decode()


def _sentence(text: str, logs: Path) -> str:
    """What an error says, without the query's ids, stack traces and addresses."""
    raised = re.findall(r"^(?:octavo\.errors\.\w+|[\w.]*(?:Exception|Error)): (.+)$", text, re.MULTILINE)
    causes = re.findall(r"Caused by: [\w.$]+: ([^\n]*)", text)
    python = [sentence for sentence in raised if "octavo" in text and sentence]
    text = python[-1] if python else causes[-1] if causes else text.split("\n\tat ")[0]
    text = re.sub(r"\[STREAM_FAILED\] Query \[.*?\] terminated with exception: ", "", text)
    text = re.sub(r"\s*SQLSTATE: \w+.*", "", text.split("=== Streaming Query")[0], flags=re.DOTALL)
    text = re.sub(r"^Job aborted due to stage failure: .*?executor driver\): ", "", text, flags=re.DOTALL)
    text = re.sub(r"^(An error occurred while calling \S+\s*:\s*)?((java|org|scala)\.[\w.$]+: )*", "", text)
    return re.sub(r"\s+", " ", text).replace(str(logs), "logs").strip()[:300]


def make_topics(logs: Path) -> None:
    """Create a topic for each case, for our sink."""
    with octavo.LogDir(logs, background=False) as log_dir:
        for case in CASES:
            log_dir.create_topic(topic_of(case), PARTITIONS)


def recorded() -> dict[str, dict[str, Outcome]]:
    """The recorded outcomes of both sinks, by case."""
    found: dict[str, dict[str, Outcome]] = json.loads(RECORDED.read_text())
    return found


def are_alike(outcomes: dict[str, Outcome]) -> bool:
    """Whether both gave the same rows, or both an error."""
    return outcomes["kafka"].get("rows") == outcomes["octavo"].get("rows")


def page(outcomes: dict[str, dict[str, Outcome]]) -> str:
    """The table: one row per case."""
    lines = ["| write | Spark's Kafka sink | octavo |", "|---|---|---|"]
    for name, both in outcomes.items():
        cells = [name, _cell(both["kafka"]), _cell(both["octavo"])]
        if both["kafka"] == both["octavo"]:
            cells[-1] = "the same"
        elif name in DIFFERENCES:
            cells[-1] += f" ({DIFFERENCES[name]})"
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(outcome: Outcome) -> str:
    return outcome["rows"] if "rows" in outcome else f"error: {outcome['error']}"


def write_page() -> None:
    PAGE.write_text(PART.sub(lambda _: page(recorded()), PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def main() -> None:
    import jpype

    from tests.interop.broker import KAFKA_VERSION, Broker
    from tests.interop.clients import Admin
    from tests.interop.jars import kafka_jars
    from tests.spark.sessions import start_session

    jars = [str(jar) for jar in kafka_jars(KAFKA_VERSION)]
    jpype.startJVM("-Dlog4j2.StatusLogger.level=OFF", classpath=jars, convertStrings=False)
    with tempfile.TemporaryDirectory() as folder:
        broker, logs = Broker(Path(folder) / "broker"), Path(folder) / "octavo" / "logs"
        broker.start()
        admin = Admin(jpype, broker.bootstrap_servers)
        for case in CASES:
            admin.create(topic_of(case), PARTITIONS)
        make_topics(logs)
        spark = start_session("local[2]", folder)
        address = {"format": "kafka", "kafka.bootstrap.servers": broker.bootstrap_servers, "kafka.max.block.ms": "5000"}
        found: dict[str, Any] = {}
        for case in CASES:
            theirs = ask(spark, broker.log_dir, case, address)
            ours = ask(spark, logs, case, {"format": "octavo", "path": str(logs)})
            found[case.name] = {"kafka": theirs, "octavo": ours}
            print(case.name, found[case.name], flush=True)
        spark.stop()
        broker.stop()
    RECORDED.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    write_page()


if __name__ == "__main__":
    main()
