"""In Spark's workers, the garbage collector skips what was loaded first; everywhere else it is left alone."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from octavo.spark.worker import settle


@pytest.fixture(autouse=True)
def unsettled() -> Iterator[None]:
    settle.cache_clear()
    yield
    gc.unfreeze()
    settle.cache_clear()


def test_a_worker_collects_only_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = SimpleNamespace(__spec__=SimpleNamespace(name="pyspark.daemon"))
    monkeypatch.setitem(sys.modules, "__main__", worker)
    settle()
    frozen = gc.get_freeze_count()
    assert frozen > 0
    settle()
    assert gc.get_freeze_count() <= frozen


def test_other_processes_are_left_alone() -> None:
    settle()
    assert gc.get_freeze_count() == 0
