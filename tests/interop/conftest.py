"""One Java machine for all tests that compare with real Kafka classes; Python can start only one in a process."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.interop.jars import kafka_jars

KAFKA_VERSION = "4.3.1"


@pytest.fixture(scope="session")
def jvm() -> Iterator[ModuleType]:
    """The `jpype` module with Kafka's classes on its path."""
    jars = kafka_jars(KAFKA_VERSION)
    jpype: ModuleType = pytest.importorskip("jpype", reason="JPype is not installed")
    if not jpype.isJVMStarted():
        try:
            jpype.startJVM(
                "-Xmx512m",
                "-Dorg.apache.logging.log4j.level=OFF",
                "-Dlog4j2.StatusLogger.level=OFF",
                classpath=[str(jar) for jar in jars],
                convertStrings=False,
            )
        except (jpype.JVMNotFoundException, OSError) as error:
            pytest.skip(f"no Java runtime: {error}")
    yield jpype
