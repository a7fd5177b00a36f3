"""Where the jars of real Kafka are, for the tests that compare with its classes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CACHE = Path(__file__).parents[2] / ".cache"


def kafka_jars(version: str) -> list[Path]:
    """The jars that `make kafka` fetched for this version; without them the test is skipped.

    OCTAVO_KAFKA_LIBS names another folder that holds `kafka-<version>/libs`.
    """
    libs = Path(os.environ.get("OCTAVO_KAFKA_LIBS") or CACHE) / f"kafka-{version}" / "libs"
    jars = sorted(libs.glob("*.jar"))
    if not jars:
        pytest.skip(f"Kafka {version}'s jars are not in {libs}: `make kafka` fetches them")
    return jars
