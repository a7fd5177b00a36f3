"""Set-up that all tests share."""

from __future__ import annotations

import hypothesis
import pytest

from tests.golden import archives

# A slow machine is no failure.
hypothesis.settings.register_profile("octavo", deadline=None)
hypothesis.settings.load_profile("octavo")


def pytest_configure(config: pytest.Config) -> None:
    """Fix the folder of unpacked archives before xdist starts its workers, so that all of them share it."""
    archives.shared_root()
