"""A world for each test: its clock, its scheduler, its files."""

from __future__ import annotations

import pytest

from tests.storage.worlds import World


@pytest.fixture
def world() -> World:
    return World()
