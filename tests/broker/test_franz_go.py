"""franz-go, the Go client: produce with every codec, consume by assignment, administration."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from octavo.broker.broker import Broker

SOURCE = Path(__file__).with_name("franz_go.go")
MODULES = ("github.com/twmb/franz-go@v1.22.2", "github.com/twmb/franz-go/pkg/kadm@v1.19.0")
_SECONDS = 600


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The test program, built in its own Go module; only the first build is slow, since Go caches it."""
    if shutil.which("go") is None:
        pytest.skip("Go is not installed")
    folder = tmp_path_factory.mktemp("franz-go")
    shutil.copy(SOURCE, folder / "main.go")
    go(folder, "mod", "init", "client")
    fetched = subprocess.run(["go", "get", *MODULES], cwd=folder, capture_output=True, text=True, timeout=_SECONDS)
    if fetched.returncode:
        pytest.skip(f"franz-go cannot be fetched: {fetched.stderr.strip().splitlines()[-1]}")
    go(folder, "mod", "tidy")
    go(folder, "build", "-o", "client", ".")
    return folder / "client"


def go(folder: Path, *arguments: str) -> None:
    run = subprocess.run(["go", *arguments], cwd=folder, capture_output=True, text=True, timeout=_SECONDS)
    assert run.returncode == 0, run.stderr


def test_franz_go(broker: Broker, program: Path) -> None:
    run = subprocess.run([program, broker.bootstrap_servers], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == {
        "consumed": 10_000,
        "ends": 10_000,
        "retention.ms": "100000",
        "starts": 10,
        "partitions": 4,
        "topics": [],
    }
