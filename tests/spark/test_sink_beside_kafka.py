"""Our sink compared with Spark's Kafka sink: columns, options and modes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.spark.sink_cases import CASES, DIFFERENCES
from tests.spark.sink_outcomes import PAGE, PART, are_alike, ask, make_topics, page, recorded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_each_write_gives_the_rows_of_sparks_kafka_sink_or_an_error_as_it_does() -> None:
    other = {name: both for name, both in recorded().items() if not are_alike(both) and name not in DIFFERENCES}
    assert other == {}


def test_every_case_was_asked_and_every_listed_difference_exists() -> None:
    assert list(recorded()) == [case.name for case in CASES]
    assert [name for name in DIFFERENCES if are_alike(recorded()[name])] == []


def test_the_page_shows_what_was_found() -> None:
    found = PART.search(PAGE.read_text(encoding="utf-8"))
    assert found is not None
    assert found[0] == page(recorded()), "run `python -m tests.spark.sink_outcomes`"


def test_our_sink_still_does_what_was_recorded(spark: SparkSession, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    make_topics(logs)
    sink = {"format": "octavo", "path": str(logs)}
    assert {case.name: ask(spark, logs, case, sink) for case in CASES} == {
        name: both["octavo"] for name, both in recorded().items()
    }
