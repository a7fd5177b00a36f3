"""Set-up that all tests share."""

from __future__ import annotations

import pytest

from tests.golden import archives


def pytest_configure(config: pytest.Config) -> None:
    """Fix the folder of unpacked archives before xdist starts its workers, so that all of them share it."""
    archives.shared_root()
