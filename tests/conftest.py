"""Set-up shared by all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import hypothesis
import pytest

import octavo
from tests.golden import archives
from tests.interop.broker import JVM_OPTIONS, KAFKA_VERSION
from tests.interop.jars import kafka_jars

# A slow machine is not a failure. Examples are the same in every run, except in `make soak`, which looks for new ones.
hypothesis.settings.register_profile("octavo", deadline=None, derandomize="OCTAVO_RANDOM" not in os.environ)
hypothesis.settings.load_profile("octavo")

# No test in this process can see whether the disk was waited for: power losses are simulated in memory, by
# crash/fault_filesystem.py. Thousands of syncs of some milliseconds each took most of the time of a run. The processes
# that tests start do wait, and so does `make soak`.
if "OCTAVO_SYNC" not in os.environ:
    os.fsync = os.fstat  # type: ignore[assignment]  # raises for a descriptor that is not open, as fsync does


def pytest_configure(config: pytest.Config) -> None:
    """Settings that must be made before xdist starts its workers: where archives are unpacked, and which kernels are
    used."""
    archives.shared_root()
    if path := os.environ.get("PYTHONPATH"):  # tests start processes in other folders
        os.environ["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, path.split(os.pathsep)))
    if not any(Path(octavo.__file__).with_name("kernels").joinpath("compiled").glob("*.so")):
        # Without compiled kernels the tests ask for the twins by name; otherwise commands would mention them on stderr.
        os.environ.setdefault("OCTAVO_KERNELS", "reference")


@pytest.fixture(scope="session")
def jvm() -> Iterator[ModuleType]:
    """The `jpype` module with Kafka's classes on its path. A process can start only one JVM."""
    jars = kafka_jars(KAFKA_VERSION)
    jpype: ModuleType = pytest.importorskip("jpype", reason="JPype is not installed")
    if not jpype.isJVMStarted():
        try:
            jpype.startJVM(
                *JVM_OPTIONS,
                "-Dorg.apache.logging.log4j.level=OFF",
                "-Dlog4j2.StatusLogger.level=OFF",
                classpath=[str(jar) for jar in jars],
                convertStrings=False,
            )
        except (jpype.JVMNotFoundException, OSError) as error:
            pytest.skip(f"no Java runtime: {error}")
    yield jpype
