"""One Spark session of each kind for a whole test run: the tests that use one run in one worker of pytest-xdist."""

from __future__ import annotations

import multiprocessing
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.interop.jars import CACHE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST_JAVA = 17
# No session here lives long enough for its JVM's best compiler to pay: half of the CPU time of a start was that one's.
JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# Spark's own Kafka source, for the tests that compare with it (`make kafka`).
CONNECTOR = Path(os.environ.get("OCTAVO_KAFKA_LIBS") or CACHE) / "kafka-spark-4.2.0" / "libs"
CLUSTER = "local-cluster[2,1,1024]"
# What keeps a session small, quiet and inside its folder.
CONFS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.streaming.pollingDelay": "50ms",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": JVM_OPTIONS,
    "spark.executor.extraJavaOptions": JVM_OPTIONS,
    "spark.python.authenticate.socketTimeout": "300s",  # a busy machine is no failure
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
}
# One broker, JVM and session for all: other schedulers of xdist would start a session in every worker.
GROUP = "spark"


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if {"spark", "cluster", "run_on"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group(GROUP))


def start_session(master: str, folder: str) -> SparkSession:
    """A session whose files are all in a folder; workers run this very Python."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_HOSTNAME"] = "localhost"
    builder = SparkSession.builder.master(master).appName("octavo tests")
    for name, value in CONFS.items():
        builder = builder.config(name, value)
    connector = sorted(CONNECTOR.glob("*.jar"))
    if connector:
        builder = builder.config("spark.jars", ",".join(map(str, connector)))
    builder = builder.config("spark.sql.warehouse.dir", f"{folder}/warehouse").config("spark.local.dir", folder)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def why_not() -> str | None:
    """Why no session can be had here."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return "pyspark is not installed (pip install octavo[spark])"
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(f"{home}/bin/java" if home else "java")
    if java is None:
        return "no Java runtime (JAVA_HOME or the PATH)"
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < LEAST_JAVA:
        return f"Spark needs a Java runtime of version {LEAST_JAVA} or later"
    return None


@pytest.fixture(scope="session")
def java() -> None:
    """Skips where Spark cannot start."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def spark(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on local[2], in this process."""
    session = start_session("local[2]", str(tmp_path_factory.mktemp("spark")))
    yield session
    session.stop()


Run = Callable[..., Any]
_cluster: SparkSession | None = None


def _start_cluster(folder: str) -> None:
    global _cluster
    _cluster = start_session(CLUSTER, folder)


def _call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    return function(_cluster, *arguments)


@pytest.fixture(scope="session")
def cluster(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Runs `function(session, *arguments)` on a local cluster of two worker processes.

    A process has one session at a time, so this one lives in another: functions are those of modules, and what they
    take and give is picklable.
    """
    folder = str(tmp_path_factory.mktemp("cluster"))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=_start_cluster, initargs=(folder,)) as executor:
        yield lambda function, *arguments: executor.submit(_call, function, arguments).result()
        executor.submit(_call, _stop, ()).result()


@pytest.fixture(params=["local", "cluster"])
def run_on(request: pytest.FixtureRequest) -> Run:
    """Runs `function(session, *arguments)` on the one kind of session, and the test again on the other."""
    if request.param == "cluster":
        run: Run = request.getfixturevalue("cluster")
        return run
    session = request.getfixturevalue("spark")
    return lambda function, *arguments: function(session, *arguments)


def _stop(session: SparkSession) -> None:
    session.stop()
