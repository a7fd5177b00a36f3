"""What tests of `produce` and `consume` share: input for `produce`, and the log that it leads to."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

import octavo as library
from octavo.scanner.reading.plan import IsolationLevel
from octavo.scanner.reading.records import ConsumerRecord
from tests.cli.runs import Run, octavo


def produce(store: Path, given: bytes, *options: str, topic: str = "t") -> Run:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        return octavo("produce", str(store), "--topic", topic, *options)


def records(
    store: Path, topic: str = "t", isolation_level: IsolationLevel = "read_uncommitted"
) -> list[ConsumerRecord]:
    return list(library.scan(store, topics=[topic], isolation_level=isolation_level).records())
