"""A new broker for each test of the broker for tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from octavo.testing import Kafka


@pytest.fixture
def kafka() -> Iterator[Kafka]:
    with Kafka() as running:
        yield running
