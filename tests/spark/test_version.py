"""The source and the sink refuse a PySpark that is too old, always with the same sentence; the jobs accept it."""

from __future__ import annotations

import pytest

import octavo.spark
from octavo.errors import OctavoError

pytest.importorskip("pyspark", reason="pyspark is not installed (pip install octavo[spark])")

import pyspark

from octavo.spark.data_source import OctavoDataSource


@pytest.mark.parametrize("version", ["3.5.9", "4.0.5", "4.1.4"])
def test_an_old_pyspark_is_refused(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    for name in ("register", "scan", "scan_stream", "skipped"):
        with pytest.raises(OctavoError, match=f"^octavo's source and sink need PySpark 4.2 or later, found {version}$"):
            getattr(octavo.spark, name)
    with pytest.raises(OctavoError, match=f"^octavo's source and sink need PySpark 4.2 or later, found {version}$"):
        OctavoDataSource({})
    assert callable(octavo.spark.verify)


@pytest.mark.parametrize("version", ["4.2.0", "4.3.0", "4.3.0.dev1", "5.0.0"])
def test_a_pyspark_that_is_new_enough_is_accepted(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    assert OctavoDataSource({}).options == {}
