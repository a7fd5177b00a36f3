"""One Spark session of each kind for a whole test run; all tests that use one run in the same worker of
pytest-xdist."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.sessions import CLUSTER, Run, start_session, why_not

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# With `--dist loadgroup`, tests of one group run in one worker; otherwise every worker would start sessions of its own.
GROUP = "spark"


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if {"spark", "cluster", "run_on"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group(GROUP))


@pytest.fixture(scope="session")
def java() -> None:
    """Skip if Spark cannot start."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def spark(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on local[2], in this process."""
    session = start_session("local[2]", str(tmp_path_factory.mktemp("spark")))
    yield session
    session.stop()


_cluster: SparkSession | None = None


def _start_cluster(folder: str) -> None:
    global _cluster
    _cluster = start_session(CLUSTER, folder)


def _call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    return function(_cluster, *arguments)


@pytest.fixture(scope="session")
def cluster(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Runs `function(session, *arguments)` on a local cluster of two worker processes.

    A process has one session at a time, so this one lives in another process: functions must belong to modules, and
    their arguments and results must be picklable.
    """
    folder = str(tmp_path_factory.mktemp("cluster"))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=_start_cluster, initargs=(folder,)) as executor:
        yield lambda function, *arguments: executor.submit(_call, function, arguments).result()
        executor.submit(_call, _stop, ()).result()


@pytest.fixture(params=["local", "cluster"])
def run_on(request: pytest.FixtureRequest) -> Run:
    """Runs `function(session, *arguments)`; the test runs once on each kind of session."""
    if request.param == "cluster":
        run: Run = request.getfixturevalue("cluster")
        return run
    session = request.getfixturevalue("spark")
    return lambda function, *arguments: function(session, *arguments)


def _stop(session: SparkSession) -> None:
    session.stop()
