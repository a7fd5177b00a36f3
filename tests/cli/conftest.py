"""A new log directory with a topic, for each test that asks for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.runs import octavo


@pytest.fixture
def store(tmp_path: Path) -> Path:
    assert octavo("create", str(tmp_path / "logs"), "--topic", "t", "--partitions", "2").exit == 0
    return tmp_path / "logs"
