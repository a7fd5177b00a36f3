"""`octavo broker` in its own process."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.interop.broker import free_ports

_SECONDS = 60.0


class Served:
    """The process can be killed and started again: it always listens on the same ports, one per protocol."""

    def __init__(
        self,
        *logs: Path,
        protocols: Sequence[str] = ("PLAINTEXT",),
        configs: Mapping[str, str] | None = None,
    ) -> None:
        ports = free_ports(len(protocols))
        self.addresses = {protocol: ("127.0.0.1", port) for protocol, port in zip(protocols, ports, strict=True)}
        self.errors = logs[0].with_name(logs[0].name + ".stderr")
        self._line = [sys.executable, "-m", "octavo", "broker", *map(str, logs)]
        for protocol, (host, port) in self.addresses.items():
            self._line += ["--listen", f"{protocol}://{host}:{port}"]
        for name, value in (configs or {}).items():
            self._line += ["--config", f"{name}={value}"]
        self.start()

    @property
    def bootstrap_servers(self) -> str:
        host, port = next(iter(self.addresses.values()))
        return f"{host}:{port}"

    @property
    def resident_bytes(self) -> int:
        pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        return int(pages) * 4096

    @property
    def complaints(self) -> list[str]:
        """The lines on stderr, without the one that says that there are no compiled kernels."""
        return [line for line in self.errors.read_text().splitlines() if "running on plain Python" not in line]

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def start(self) -> None:
        with self.errors.open("ab") as errors:
            self._process = subprocess.Popen(self._line, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert self._process.stdout is not None
        for _ in self.addresses:
            assert self._process.stdout.readline().startswith("listening on "), self.errors.read_text()

    def end(self, number: signal.Signals) -> int:
        """Send a signal and wait; returns the process's exit code."""
        self._process.send_signal(number)
        return self._process.wait(_SECONDS)

    def kill_often(self, times: int, choose: random.Random, *, between: tuple[float, float]) -> None:
        """kill -9 and start again, each time after a random number of seconds between these bounds."""
        for _ in range(times):
            time.sleep(choose.uniform(*between))
            self.end(signal.SIGKILL)
            self.start()

    def kill_under(
        self, works: Sequence[Callable[[threading.Event], None]], times: int, seed: int, *, between: tuple[float, float]
    ) -> None:
        """`kill_often` while each of `works` runs on a thread; then set their event, and stop the broker cleanly."""
        is_done = threading.Event()
        threads = [threading.Thread(target=work, args=(is_done,)) for work in works]
        for thread in threads:
            thread.start()
        self.kill_often(times, random.Random(seed), between=between)
        time.sleep(1)  # some work with the last process
        is_done.set()
        for thread in threads:
            thread.join()
        self.end(signal.SIGTERM)
