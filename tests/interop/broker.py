"""A real Kafka 4.3.1 broker in its own process: one KRaft node on free ports of this machine."""

from __future__ import annotations

import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.interop.jars import kafka_jars

KAFKA_VERSION = "4.3.1"
CLUSTER_ID = "octavo-test-cluster-00"  # 22 characters, as an id has
# No JVM here runs long enough for the optimizing compiler to pay off; it took half of the CPU time of a start.
JVM_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
# What Kafka's own start script sets, for measurements.
KAFKAS_JVM_OPTIONS = (
    *("-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"),
    *("-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent"),
)
_PORTS = range(10_000, 32_000)
_START_SECONDS = 120
_STOP_SECONDS = 60
_POLL_SECONDS = 0.05
_STARTED = "Kafka Server started"

# Small and quick, so that a test soon sees cleaning and deletions; records with old timestamps stay.
PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "false",
    "num.io.threads": "2",
    "num.network.threads": "1",
    "log.retention.ms": "-1",
    "log.initial.task.delay.ms": "500",
    "log.retention.check.interval.ms": "1000",
    "log.segment.delete.delay.ms": "1000",
    "log.cleaner.backoff.ms": "200",
    "log.cleaner.dedupe.buffer.size": "8388608",
}

LOG4J = """<Configuration status="OFF"><Appenders><Console name="out"><PatternLayout pattern="%d %p %m%n"/></Console>
</Appenders><Loggers><Root level="INFO"><AppenderRef ref="out"/></Root></Loggers></Configuration>"""


class Broker:
    """Owns a process and a folder: `log_dir` is the node's log directory, `output` what it printed."""

    def __init__(
        self,
        folder: Path,
        properties: dict[str, str] | None = None,
        *,
        log_dir: Path | None = None,
        static_voters: bool = False,
        jvm_options: Sequence[str] = JVM_OPTIONS,
    ) -> None:
        """`static_voters`: the quorum is named in the properties, so that a directory need not be formatted."""
        self._jars = kafka_jars(KAFKA_VERSION)
        self._jvm_options = jvm_options
        self.folder = folder
        self.log_dir = log_dir or folder / "logs"
        self.output = folder / "broker.log"
        self.port, controller_port = free_ports(2)
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        addresses = {
            "listeners": f"PLAINTEXT://localhost:{self.port},CONTROLLER://localhost:{controller_port}",
            "log.dirs": str(self.log_dir),
        }
        if static_voters:
            addresses["controller.quorum.voters"] = f"1@localhost:{controller_port}"
        else:
            addresses["controller.quorum.bootstrap.servers"] = f"localhost:{controller_port}"
        merged = {**PROPERTIES, **addresses, **(properties or {})}
        self._properties = folder / "server.properties"
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in merged.items()))
        (folder / "log4j2.xml").write_text(LOG4J)

    @property
    def bootstrap_servers(self) -> str:
        return f"localhost:{self.port}"

    def start(self) -> None:
        """Format the log directory if it is new, start, and wait until requests are served."""
        if not (self.log_dir / "meta.properties").exists():
            arguments = ["format", "-t", CLUSTER_ID, "-c", str(self._properties), "--standalone"]
            subprocess.run(self._java("kafka.tools.StorageTool", *arguments), check=True, capture_output=True)
        self.output.unlink(missing_ok=True)
        with self.output.open("wb") as output:
            line = self._java("kafka.Kafka", str(self._properties))
            self._process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        end = time.monotonic() + _START_SECONDS
        while _STARTED not in self.output.read_text(errors="replace"):
            if self._process.poll() is not None or time.monotonic() > end:
                self.kill()
                raise RuntimeError(f"the broker did not start:\n{self.output.read_text(errors='replace')[-3000:]}")
            time.sleep(_POLL_SECONDS)

    def stop(self) -> None:
        """Stop cleanly."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """kill -9: the directory is left as after a crash."""
        self._end(signal.SIGKILL)

    @property
    def pid(self) -> int:
        assert self._process is not None, "the broker is not running"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(number)
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _java(self, main: str, *arguments: str) -> list[str]:
        java = shutil.which("java") or "java"
        options = [*self._jvm_options, f"-Dlog4j2.configurationFile={self.folder / 'log4j2.xml'}"]
        return [java, *options, "-cp", f"{self._jars[0].parent}/*", main, *arguments]


def free_ports(count: int) -> list[int]:
    """Free ports below those that the system gives to connections: one of those could be taken before a broker, which
    needs seconds to start, listens on it."""
    found: list[int] = []
    while len(found) < count:
        port = _PORTS[secrets.randbelow(len(_PORTS))]
        with socket.socket() as taken, suppress(OSError):
            taken.bind(("", port))
            if port not in found:
                found.append(port)
    return found
