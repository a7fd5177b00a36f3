"""Which Python runs the workers: the driver's own, where Spark would take any `python3` of the PATH."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import octavo.spark
from octavo.spark.worker import use_this_python
from tests.scanner.segments import write_segment
from tests.storage.batches import batch

pytest.importorskip("pyspark", reason="pyspark is not installed (pip install octavo[spark])")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT = "python3-without-octavo"


def python_of(master: str, **confs: str) -> str:
    conf = SimpleNamespace(contains=lambda name: name in confs)
    context = SimpleNamespace(master=master, pythonExec=DEFAULT, getConf=lambda: conf)
    session: Any = SimpleNamespace(sparkContext=context)
    use_this_python(session)
    return str(context.pythonExec)


def test_jobs_scans_and_a_registered_source_run_on_this_python(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_segment(tmp_path / "logs" / "orders-0", 0, batch(0, 10))
    logs = str(tmp_path / "logs")
    monkeypatch.delenv("PYSPARK_PYTHON")

    def read_registered() -> int:
        session = spark.newSession()
        octavo.spark.register(session)
        return session.read.format("octavo").load(logs).count()

    for read in (
        read_registered,
        lambda: octavo.spark.scan(spark, logs).count(),
        lambda: octavo.spark.verify(spark, logs).summary.records,
    ):
        monkeypatch.setattr(spark.sparkContext, "pythonExec", DEFAULT)
        assert read() == 10
        assert spark.sparkContext.pythonExec == sys.executable


def test_a_choice_of_the_user_and_a_clusters_default_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert python_of("local[2]") == python_of("local") == python_of("local-cluster[2,1,1024]") == sys.executable
    assert python_of("spark://host:7077") == python_of("yarn") == DEFAULT
    assert python_of("local[2]", **{"spark.pyspark.python": "/other/python"}) == DEFAULT
    monkeypatch.setenv("PYSPARK_PYTHON", "/other/python")
    assert python_of("local[2]") == DEFAULT
