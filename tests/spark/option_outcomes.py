"""What queries of our source return, compared with Spark's Kafka source as recorded by tests.spark.kafka_outcomes.

`python -m tests.spark.option_outcomes` (part of `make docs`) writes the table of docs/spark-source.md that shows both.
"""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.spark.option_cases import CASES, DIFFERENCES, Case

DATA = Path(__file__).parents[1] / "data"
RECORDED, LOGS = DATA / "spark-options.json", DATA / "spark-options.tar.gz"
PAGE = Path(__file__).parents[2] / "docs" / "spark-source.md"
PART = re.compile(r"(?<=<!-- recorded: comparison -->\n).*?(?=<!-- end -->)", re.DOTALL)
Outcome = dict[str, str]  # "rows" with "content", or "error" with "type"
Key = tuple[str, str, str]  # option, value, batch or stream
# Topic, partition, offset, timestamp, its type, key, value, headers.
Row = tuple[str, int, int, int, int, Any, Any, Any]

# Our error that corresponds to an exception, or an error condition, of Spark's source.
KINDS = {
    "AssertionError": "ConfigError",
    "ConfigException": "ConfigError",
    "IllegalArgumentException": "ConfigError",
    "NoSuchElementException": "ConfigError",
    "NumberFormatException": "ConfigError",
    "PatternSyntaxException": "ConfigError",
    "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED": "ConfigError",
    "KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED": "ConfigError",
    "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_START_OFFSET_AND_END_OFFSET": "ConfigError",
    "UNRESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET": "ConfigError",
    "RESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET": "ScanError",
    "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE": "DataLossError",
    "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED": "DataLossError",
    "UnknownTopicOrPartitionException": "UnknownTopicOrPartitionError",
}


def outcome_of(rows: list[Row], tasks: int | None) -> Outcome:
    """Rows as shown on the page, with a digest of all their content; and the number of tasks if requested."""
    said = _shown(rows) + ("" if tasks is None else f", in {tasks} task{'s' if tasks > 1 else ''}")
    whole = json.dumps(sorted(rows, key=lambda row: row[:3]), default=lambda value: bytes(value).hex())
    return {"rows": said, "content": hashlib.sha256(whole.encode()).hexdigest()[:16]}


def _shown(rows: Iterable[Row]) -> str:
    offsets: dict[tuple[str, int], list[int]] = defaultdict(list)
    for topic, partition, offset in sorted(row[:3] for row in rows):
        offsets[topic, partition].append(offset)
    parts = []
    for (topic, partition), found in offsets.items():
        whole = found == list(range(found[0], found[-1] + 1))
        parts.append(f"{topic}-{partition}: {f'{found[0]} to {found[-1]}' if whole else ' '.join(map(str, found))}")
    return ", ".join(parts) or "no rows"


def ours(logs: Path, case: Case, mode: str) -> Outcome:
    """Our source's answer, from the reader that Spark would call."""
    from octavo.errors import OctavoError

    options = {"path": str(logs), **case.given(mode)}
    try:
        tasks = list(_batch_tasks(options) if mode == "batch" else _stream_tasks(options))
    except OctavoError as error:
        return {"error": str(error).replace(str(logs), "logs"), "type": type(error).__name__}
    rows = [row for task in tasks for row in task]
    return outcome_of(rows, sum(map(bool, tasks)) if case.counts_tasks else None)


def _batch_tasks(options: dict[str, str]) -> Iterator[list[Row]]:
    from octavo.spark.query.source_options import SourceOptions
    from octavo.spark.source.batch_reader import batch_reader

    reader: Any = batch_reader(options, SourceOptions.of(options).schema())
    for partition in reader.partitions():
        yield _rows(reader.read(partition))


def _stream_tasks(options: dict[str, str]) -> Iterator[list[Row]]:
    from octavo.spark.query.source_options import SourceOptions
    from octavo.spark.source.stream_reader import stream_reader

    reader = stream_reader(options, SourceOptions.of(options).schema())
    reader.prepareForTriggerAvailableNow()
    start, limit = reader.initialOffset(), reader.getDefaultReadLimit()
    while (end := reader.latestOffset(start, limit)) != start:
        for partition in reader.partitions(start, end):
            yield _rows(reader.read(partition))
        start = end


def _rows(batches: Iterable[Any]) -> list[Row]:
    found: list[Row] = []
    for batch in batches:
        for row in batch.to_pylist():
            headers = row.get("headers") and [(header["key"], header["value"]) for header in row["headers"]]
            stamp, names = int(row["timestamp"].timestamp() * 1000), ("topic", "partition", "offset")
            content = row["timestampType"], row["key"], row["value"], headers
            found.append((*(row[name] for name in names), stamp, *content))
    return found


def differ(kafka: Outcome, octavo: Outcome) -> bool:
    """Whether the answers are different rows, rows and an error, or different kinds of errors."""
    if "error" in kafka and "error" in octavo:
        return KINDS.get(kafka["type"]) != octavo["type"]
    return kafka != octavo


def recorded() -> dict[Key, Outcome]:
    """The recorded answers of Spark's source."""
    return {(row["option"], row["value"], row["mode"]): row["kafka"] for row in json.loads(RECORDED.read_text())}


def unpack(folder: Path) -> Path:
    """Unpack the log directory of the broker that Spark's source was asked about."""
    with tarfile.open(LOGS) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", None)
        tar.extractall(folder)
    return folder / "logs"


def compared(logs: Path) -> dict[Key, tuple[Outcome, Outcome]]:
    """The recorded outcome of Spark's Kafka source and our own, for every case."""
    known = recorded()
    return {
        (case.option, case.value, mode): (known[case.option, case.value, mode], ours(logs, case, mode))
        for case in CASES
        for mode in case.modes
    }


def page(outcomes: dict[Key, tuple[Outcome, Outcome]]) -> str:
    """The table: one row per query."""
    lines = ["| option | value | query | Spark's Kafka source | octavo |", "|---|---|---|---|---|"]
    for (option, value, mode), (kafka, octavo) in outcomes.items():
        is_described = value.startswith("(") and value.endswith(")")
        shown = value if is_described or not value else f"`{value}`"
        cells = [option, shown, mode, _cell(kafka), _cell(octavo)]
        if (option, value, mode) in DIFFERENCES:
            cells[-1] += f" ({DIFFERENCES[option, value, mode]})"
        elif not differ(kafka, octavo) and kafka.get("error") == octavo.get("error"):
            cells[-1] = "the same"
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(outcome: Outcome) -> str:
    return outcome["rows"] if "rows" in outcome else f"error: {outcome['error']}"


def write_page() -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = page(compared(unpack(Path(folder))))
    PAGE.write_text(PART.sub(lambda _: table, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write_page()
