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

# The log level from Spark's start on; spark.log.level takes effect only once there is a session. Spark treats the
# gateway as a shell and resets its level to WARN with a message, unless the gateway has its own level.
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
    # Two attempts at a task must not write next to a log at once, whatever spark-defaults.conf says.
    "spark.speculation": "false",
}


@contextmanager
def session(master: str) -> Iterator[SparkSession]:
    """A session on a master, stopped at the end. Workers use this Python, unless PYSPARK_PYTHON names another."""
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise OctavoError("--spark needs pyspark, which is not installed: pip install 'octavo[spark]'") from None
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
    """Make the starting JVM log only errors, unless its options configure the log."""
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
