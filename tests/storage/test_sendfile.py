"""Batches go from the file to a socket inside the kernel: strace watches the system calls of a sending process."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from octavo.config import LogConfig
from octavo.storage.partition_log import PartitionLog
from octavo.storage.recovery.load import LoadRequest
from tests.storage.batches import batch
from tests.storage.sending_process import BEGIN, END
from tests.storage.worlds import NOW_MS, World

REPOSITORY = Path(__file__).parents[2]
# All system calls by which bytes could enter the process, or leave it another way.
WATCHED = "sendfile,read,pread64,readv,preadv,preadv2,write,pwrite64,writev,pwritev,sendto,sendmsg,splice,mmap"
BATCHES, VALUE_BYTES = 40, 50_000


@pytest.fixture
def strace() -> str:
    found = shutil.which("strace")
    if found is None:
        pytest.skip("strace is not installed (Debian: apt-get install strace)")
    tried = subprocess.run([found, "-o", "/dev/null", "true"], capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"strace may not trace here: {tried.stderr.strip()}")
    return found


def written_log(folder: Path) -> bytes:
    request = LoadRequest(folder=folder, config=LogConfig.of({}), environment=World().environment, clean=True)
    log = PartitionLog(request)
    for _ in range(BATCHES):
        log.append_as_leader(batch(0, timestamp=NOW_MS, value_bytes=VALUE_BYTES), leader_epoch=0)
    log.close()
    return (folder / f"{0:020}.log").read_bytes()


def calls_while_sending(trace: str) -> list[tuple[str, int]]:
    """Name and result of the system calls between the two lines."""
    lines = trace.split("\n")
    first = next(number for number, line in enumerate(lines) if BEGIN.strip().decode() in line)
    last = next(number for number, line in enumerate(lines) if END.strip().decode() in line)
    found = [re.match(r"(?:\d+ +)?(\w+)\(.*= (-?\d+)", line) for line in lines[first + 1 : last]]
    return [(match[1], int(match[2])) for match in found if match]


# D2: zero copy: batches go from the page cache to the socket by sendfile alone
def test_only_sendfile_moves_the_bytes(tmp_path: Path, strace: str) -> None:
    expected = written_log(tmp_path / "t-0")
    trace = tmp_path / "trace"
    with socket.create_server(("localhost", 0)) as server:
        sender = "-m", "tests.storage.sending_process", str(tmp_path / "t-0"), str(server.getsockname()[1])
        line = [strace, "-f", "-o", str(trace), "-e", f"trace={WATCHED}", sys.executable, *sender]
        with subprocess.Popen(line, cwd=REPOSITORY, stderr=subprocess.PIPE) as process:
            connection, _ = server.accept()
            with connection, connection.makefile("rb") as stream:
                received = stream.read()
            _, told = process.communicate()
    assert process.returncode == 0, told.decode()
    assert received == expected
    calls = calls_while_sending(trace.read_text())
    assert {name for name, _ in calls} == {"sendfile"}
    assert sum(result for _, result in calls) == len(expected)
