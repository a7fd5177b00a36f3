"""Kafka's Java clients of the newest and the previous major version: produce, consume by assignment, administration."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from octavo.broker.broker import Broker
from tests.interop.broker import JVM_OPTIONS
from tests.interop.jars import kafka_jars

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("broker")]

SOURCE = Path(__file__).with_name("JavaClient.java")


@pytest.mark.parametrize("version", ["4.3.1", "3.9.2"])
def test_java_clients(broker: Broker, version: str) -> None:
    line = ["java", *JVM_OPTIONS, "-cp", f"{kafka_jars(version)[0].parent}/*", str(SOURCE), broker.bootstrap_servers]
    run = subprocess.run(line, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [
        "consumed 10000",
        "retention.ms 100000",
        "starts 10",
        "partitions 4",
        "nodes 1",
        "topics []",
    ]
