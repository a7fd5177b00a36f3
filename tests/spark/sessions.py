"""Spark sessions for tests: small, quiet, with all their files in one folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.interop.jars import CACHE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


LEAST_JAVA = 17


# No session here lives long enough for the JVM's optimizing compiler to pay off; it took half of the CPU time of a
# start.
JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


# Spark's own Kafka source, for the tests that compare with it (`make kafka`).
CONNECTOR = Path(os.environ.get("OCTAVO_KAFKA_LIBS") or CACHE) / "kafka-spark-4.2.0" / "libs"


CLUSTER = "local-cluster[2,1,1024]"


# Keeps a session small, quiet and inside its folder.
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
    "spark.python.authenticate.socketTimeout": "300s",  # a busy machine is not a failure
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
}


def start_session(master: str, folder: str) -> SparkSession:
    """A session with all its files in a folder; workers run this very Python."""
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
    """Why no session can be started here; None if one can."""
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


Run = Callable[..., Any]
