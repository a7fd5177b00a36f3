"""A new `octavo.testing.Kafka` for each test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from octavo.testing import Kafka


@pytest.fixture
def kafka() -> Iterator[Kafka]:
    with Kafka() as running:
        yield running
