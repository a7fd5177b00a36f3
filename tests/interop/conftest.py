"""One Java machine and one broker for all tests that compare with real Kafka: a process can start one machine only."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.interop.broker import KAFKA_VERSION, Broker
from tests.interop.jars import kafka_jars


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


@pytest.fixture(scope="session")
def broker(jvm: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A running broker, shared: tests use topics of their own, and neither stop nor kill it."""
    running = Broker(tmp_path_factory.mktemp("broker"))
    running.start()
    yield running
    running.kill()
