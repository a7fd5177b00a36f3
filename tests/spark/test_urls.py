"""Spark over an object store: URLs with Hadoop's scheme s3a, jobs, and credentials that are never shown."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from octavo.spark import jobs
from tests.golden.archives import unpack
from tests.s3 import KEY, SECRET, s3_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ARCHIVE, TOPIC = "v431-killed-recovered", "crash.plain"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with s3_server() as server:
        server.put("logs", unpack(ARCHIVE))
        server.put("torn/crash.compacted-0", unpack("v431-torn") / "crash.compacted-0", 200_000)
        yield server.url("logs", "s3a").replace("://", f"://{KEY}:{quote(SECRET, safe='')}@")


def test_records_come_from_s3a_and_no_plan_shows_the_credentials(spark: SparkSession, url: str) -> None:
    frame = spark.read.format("octavo").option("subscribe", TOPIC).load(url)
    assert frame.count() == 271
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        frame.explain(extended=True)
    assert "s3cr3t" not in shown.getvalue()
    assert KEY not in shown.getvalue()


def test_verify_and_topics_run_on_a_url(spark: SparkSession, url: str) -> None:
    report, here = jobs.verify(spark, url), jobs.verify(spark, unpack(ARCHIVE))
    assert report.summary == here.summary
    assert report.summary.partitions == 12
    torn = jobs.verify(spark, url.replace("/logs?", "/torn?")).findings
    assert torn and all("s3cr3t" not in found.path for found in torn)
    counted = jobs.topics(spark, url, [TOPIC]).counts
    assert counted == jobs.topics(spark, unpack(ARCHIVE), [TOPIC]).counts


def test_an_error_in_a_query_does_not_show_the_credentials(spark: SparkSession, url: str) -> None:
    frame = spark.read.format("octavo").option("subscribe", TOPIC).load(url.replace("logs", "nowhere"))
    with pytest.raises(Exception, match="no such") as raised:
        frame.count()
    assert "s3cr3t" not in str(raised.value)
    assert KEY not in str(raised.value)


def test_a_job_that_changes_files_refuses_a_url(spark: SparkSession, url: str) -> None:
    with pytest.raises(Exception, match="cannot") as raised:
        jobs.compact(spark, url)
    assert KEY not in str(raised.value)
