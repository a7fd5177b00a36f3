"""Two simultaneous attempts at a task, as Spark's speculation starts them: the rows are written once, and the jobs that
rewrite files refuse to run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.interop.broker import free_ports
from tests.spark.sessions import JVM_OPTIONS
from tests.spark.sink_runs import ROWS, numbers, values

HOSTS = ("127.0.0.2", "127.0.0.3")


@pytest.mark.usefixtures("java")
@pytest.mark.skipif("OCTAVO_KILLS" not in os.environ, reason="six JVMs for a minute: `make soak` sets OCTAVO_KILLS")
def test_two_attempts_of_a_task_write_its_rows_once(tmp_path: Path) -> None:
    """The driver also checks that `compact`, `reindex` and `upgrade` are refused."""
    with cluster(tmp_path) as master:
        command = [sys.executable, "-m", "tests.spark.speculating_driver", master, str(tmp_path)]
        subprocess.run(command, cwd=Path(__file__).parents[2], check=True)
    for job in ("batch", "stream"):
        attempts = sorted(path.name for path in (tmp_path / job).iterdir())
        assert attempts == ["0", "1"], f"{job}: no task ran twice at once"
        assert values(tmp_path / "out", job) == numbers(ROWS)


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """A master and two workers with one core each, which are different machines by name."""
    port = free_ports(1)[0]
    master = f"spark://127.0.0.1:{port}"
    started = [_daemon(folder, "master", "master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", 0)]
    try:
        for host in HOSTS:
            terms = ("--host", host, "--cores", 1, "--memory", "1g", "--webui-port", 0, "--work-dir", folder / host)
            started.append(_daemon(folder, host, "worker.Worker", *terms, master))
        yield master
    finally:
        for daemon in started:
            daemon.terminate()
        for daemon in started:
            daemon.wait()


def _daemon(folder: Path, name: str, main: str, *arguments: object) -> subprocess.Popen[bytes]:
    import pyspark

    spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
    environment = {**os.environ, "SPARK_DAEMON_JAVA_OPTS": JVM_OPTIONS, "PYSPARK_PYTHON": sys.executable}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    with (folder / f"{name}.log").open("wb") as output:
        command = [str(spark_class), f"org.apache.spark.deploy.{main}", *map(str, arguments)]
        return subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
