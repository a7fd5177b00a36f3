"""Runs Kafka 4.3.1's own command-line tools against a broker."""

from __future__ import annotations

import subprocess

from tests.interop.broker import JVM_OPTIONS, KAFKA_VERSION
from tests.interop.jars import kafka_jars

TOOLS = "org.apache.kafka.tools."


class Tools:
    """Runs a tool, which must succeed."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers

    def run(self, tool: str, *arguments: str, stdin: str = "") -> str:
        line = ["java", *JVM_OPTIONS, "-cp", f"{kafka_jars(KAFKA_VERSION)[0].parent}/*", tool]
        run = subprocess.run(
            [*line, "--bootstrap-server", self.bootstrap_servers, *arguments], capture_output=True, text=True,
            input=stdin, timeout=120,
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        return run.stdout
