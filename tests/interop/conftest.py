"""One broker for all tests that only need their own topics."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.interop.broker import Broker


@pytest.fixture(scope="session")
def broker(jvm: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A running, shared broker: tests use their own topics, and neither stop nor kill it."""
    running = Broker(tmp_path_factory.mktemp("broker"))
    running.start()
    yield running
    running.kill()
