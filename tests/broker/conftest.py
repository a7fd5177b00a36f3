"""A broker in the test's process, over its own directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import octavo
from octavo.broker.broker import Broker
from tests.broker.raw import RawClient


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[octavo.LogDir]:
    with octavo.LogDir(tmp_path / "logs", create=True) as logs:
        yield logs


@pytest.fixture
def broker(logs: octavo.LogDir) -> Iterator[Broker]:
    with Broker(logs) as running:
        yield running


@pytest.fixture
def client(broker: Broker) -> Iterator[RawClient]:
    with RawClient(broker.address) as connected:
        yield connected
