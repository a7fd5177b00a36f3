"""Our source compared with Spark's Kafka source, option by option, and the same rows from both over one broker."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed (pip install octavo[spark])")

from octavo.format.names import LOG_START_OFFSET_CHECKPOINT
from octavo.spark.query.options import SOURCE_OPTIONS
from tests.interop.broker import Broker
from tests.spark.kafka_outcomes import fill, theirs
from tests.spark.option_cases import CASES, DIFFERENCES
from tests.spark.option_outcomes import PAGE, PART, compared, differ, page, recorded, unpack
from tests.spark.queries import run
from tests.spark.sessions import CONNECTOR

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PATIENCE_SECONDS = 60
ASKED = [(case, mode) for case in CASES for mode in case.modes]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the broker that Spark's source was asked about."""
    return unpack(tmp_path_factory.mktemp("options"))


def test_each_option_gives_the_rows_of_sparks_kafka_source_or_an_error_as_it_does(logs: Path) -> None:
    """Rows with all their content, in as many tasks if the case is about that; for errors, their kind."""
    assert {key: both for key, both in compared(logs).items() if differ(*both) and key not in DIFFERENCES} == {}


def test_every_case_was_asked_and_every_listed_difference_exists(logs: Path) -> None:
    keys = [(case.option, case.value, mode) for case, mode in ASKED]
    assert list(recorded()) == keys
    assert len(set(keys)) == len(keys), "two cases with one name"
    outcomes = compared(logs)
    assert [key for key in DIFFERENCES if not differ(*outcomes[key])] == []


def test_each_option_has_a_row_for_each_kind_of_query() -> None:
    """Except our own options, `path`, and `kafka.*`, which stands for many options."""
    sparks = {option.name for option in SOURCE_OPTIONS if not option.ours} - {"path", "kafka.*"}
    asked = {(case.option, mode) for case, mode in ASKED}
    assert {(name, mode) for name in sparks for mode in ("batch", "stream")} - asked == set()


def test_nothing_of_what_was_said_is_cut_off_or_breaks_a_row(logs: Path) -> None:
    lines = page(compared(logs)).splitlines()
    assert len(lines) == len(ASKED) + 2
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {6}
    longest = recorded()["kafka.auto.offset.reset", "earliest", "stream"]["error"]
    assert longest.endswith("See the docs for more details.")


def test_the_page_shows_what_was_found(logs: Path) -> None:
    found = PART.search(PAGE.read_text(encoding="utf-8"))
    assert found is not None
    assert found[0] == page(compared(logs)), "run `python -m tests.spark.option_outcomes`"


@pytest.fixture(scope="module")
def kafka(jvm: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker with the topics of the cases."""
    if not any(CONNECTOR.glob("*.jar")):
        pytest.skip(f"Spark's Kafka source is not in {CONNECTOR}: `make kafka` fetches it")
    running = Broker(tmp_path_factory.mktemp("kafka"), {"log.flush.start.offset.checkpoint.interval.ms": "100"})
    running.start()
    fill(jvm, running.bootstrap_servers)
    # A broker only occasionally writes where its logs start; until then, a reader of its files cannot know.
    starts, end = running.log_dir / LOG_START_OFFSET_CHECKPOINT, time.monotonic() + PATIENCE_SECONDS
    while not starts.exists() or "trimmed 0 5" not in starts.read_text():
        assert time.monotonic() < end
        time.sleep(0.05)
    yield running
    running.kill()


@pytest.mark.kafka
@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_both_sources_give_the_same_data_frame(spark: SparkSession, kafka: Broker, isolation: str) -> None:
    options = {"subscribePattern": ".*", "includeHeaders": "true", "kafka.isolation.level": isolation}
    frames: dict[str, DataFrame] = {}
    for name, address in addresses(kafka).items():
        frames[name] = spark.read.format(name).options(**options, **address).load()
    assert frames["octavo"].schema == frames["kafka"].schema
    rows = {name: sorted(map(tuple, frame.collect()), key=lambda row: row[2:5]) for name, frame in frames.items()}
    assert rows["octavo"] == rows["kafka"]
    assert len(rows["octavo"]) == {"read_uncommitted": 31, "read_committed": 28}[isolation]


@pytest.mark.kafka
def test_both_sources_stream_the_same_offsets(spark: SparkSession, kafka: Broker) -> None:
    options = {"subscribePattern": ".*", "startingOffsets": "earliest", "maxOffsetsPerTrigger": "7"}
    seen: dict[str, Any] = {}
    for name, address in addresses(kafka).items():
        frame = spark.readStream.format(name).options(**options, **address).load()
        query = run(frame.writeStream.format("memory").queryName(f"both_{name}"))
        ends = [source["endOffset"] for row in query.recentProgress for source in row["sources"]]
        rows = spark.table(f"both_{name}").select("topic", "partition", "offset").collect()
        seen[name] = [json.loads(end) for end in ends], sorted(map(tuple, rows))
    assert seen["octavo"] == seen["kafka"], "micro-batches that end at the same offsets"


@pytest.mark.kafka
def test_sparks_source_still_says_what_was_recorded(spark: SparkSession, kafka: Broker) -> None:
    """Only a few of the cases: `python -m tests.spark.kafka_outcomes` asks all of them, and records the answers."""
    for option, value, mode in (
        ("startingTimestamp", "(with startingOffsets and startingOffsetsByTimestamp)", "batch"),
        ("endingOffsets", "(other partitions)", "batch"),
        ("maxOffsetsPerTrigger", "4", "stream"),
    ):
        case = next(case for case in CASES if (case.option, case.value) == (option, value))
        assert theirs(spark, kafka.bootstrap_servers, case, mode) == recorded()[option, value, mode]


def addresses(kafka: Broker) -> dict[str, dict[str, str]]:
    return {"kafka": {"kafka.bootstrap.servers": kafka.bootstrap_servers}, "octavo": {"path": str(kafka.log_dir)}}
