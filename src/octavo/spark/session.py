"""The Spark session that a command starts for its own tasks."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from octavo.errors import OctavoError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What Spark says from its very start on; spark.log.level holds only once a session is there. The gateway counts as a
# shell, whose level Spark sets back to WARN, and says so, unless it has one of its own.
_LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n%ex
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
"""
_LOG4J_OPTION = "-Dlog4j2.configurationFile"
_CONFS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # Tasks that write beside a log run once at a time, whatever spark-defaults.conf says.
    "spark.speculation": "false",
}


@contextmanager
def session(master: str) -> Iterator[SparkSession]:
    """A session on a master, stopped at the end. Its Python is this one, unless PYSPARK_PYTHON names another."""
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise OctavoError("pyspark is not installed, expected it for --spark: pip install 'octavo[spark]'") from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("octavo").master(master)
    for name, value in _CONFS.items():
        builder = builder.config(name, value)
    with _quiet_start():
        try:
            spark = builder.getOrCreate()
        except PySparkException as error:
            raise OctavoError(f"Spark does not start on {master}: {error}") from error
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def _quiet_start() -> Iterator[None]:
    """Let the JVM that is started log errors alone, unless its options have a configuration of the log."""
    given = os.environ.get("SPARK_SUBMIT_OPTS")
    if _LOG4J_OPTION in (given or ""):
        yield
        return
    with TemporaryDirectory(prefix="octavo-") as folder:
        path = Path(folder) / "log4j2.properties"
        path.write_text(_LOG4J)
        os.environ["SPARK_SUBMIT_OPTS"] = f"{given or ''} {_LOG4J_OPTION}={path}".lstrip()
        try:
            yield
        finally:
            if given is None:
                del os.environ["SPARK_SUBMIT_OPTS"]
            else:
                os.environ["SPARK_SUBMIT_OPTS"] = given
