"""Set-up that all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

import octavo
from tests.golden import archives

# A slow machine is no failure. Examples are the same in every run, but for `make soak`, which looks for new ones.
hypothesis.settings.register_profile("octavo", deadline=None, derandomize="OCTAVO_RANDOM" not in os.environ)
hypothesis.settings.load_profile("octavo")


def pytest_configure(config: pytest.Config) -> None:
    """What must hold before xdist starts its workers: where archives are unpacked, and which kernels serve."""
    archives.shared_root()
    if not any(Path(octavo.__file__).with_name("kernels").joinpath("compiled").glob("*.so")):
        # Without compiled kernels the tests ask for the twin by name: commands would else say on stderr that it serves.
        os.environ.setdefault("OCTAVO_KERNELS", "reference")
