"""Fetched records go from the file to the socket inside the operating system: except for a read of the first batch's
header, no other system call of the broker sees them."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from octavo.format.protocol.apis import CREATE_TOPICS, FETCH, PRODUCE
from tests.broker.raw import RawClient
from tests.broker.requests import batch, fetching, produced

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")

SECRET = "moved-by-the-kernel-only " * 4_000
_MOST_SECONDS = 60.0
CALL = re.compile(r"(?:\d+ +)?(\w+)\((.*)\) += (-?\d+)")


@contextmanager
def traced_broker(folder: Path) -> Iterator[tuple[RawClient, Path]]:
    """`octavo broker` whose system calls on descriptors are recorded with the data they carry."""
    trace = folder / "trace"
    # A string is shown up to this many bytes, enough to recognize records in it.
    line = ["strace", "-f", "-qq", "-s", "200", "-e", "trace=desc,network", "-o", str(trace)]
    line += [sys.executable, "-m", "octavo", "broker", str(folder / "logs"), "--listen", "127.0.0.1:0"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        watchdog = threading.Timer(_MOST_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
        watchdog.start()
        try:
            said = process.stdout.readline()
            if not said:
                pytest.skip("strace may not trace here")
            with RawClient(("127.0.0.1", int(said.rpartition(":")[2]))) as client:
                yield client, trace
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)  # strace itself ignores it while the broker runs
            process.wait()  # the watchdog ends it if nothing else does
            watchdog.cancel()


# D2: zero copy: batches go from the page cache to the socket by sendfile alone
def test_only_sendfile_moves_records(tmp_path: Path) -> None:
    records = batch(SECRET)
    with traced_broker(tmp_path) as (client, trace):
        client.ask(CREATE_TOPICS, 4, {"topics": [{"name": "t", "numPartitions": 1, "replicationFactor": 1}]})
        client.ask(PRODUCE, 9, produced("t", 0, records))
        before = trace.stat().st_size
        answer = client.ask(FETCH, 12, fetching("t", 0))
        assert answer is not None
        sent = bytes(answer["responses"][0]["partitions"][0]["records"])
        assert sent[61:] == records[61:]
    calls = [found.groups() for found in map(CALL.search, trace.read_text()[before:].splitlines()) if found]
    moved = sum(int(result) for name, _, result in calls if name == "sendfile" and int(result) > 0)
    assert moved == len(records)
    others = [name for name, given, result in calls if name != "sendfile" and SECRET[:25] in given and int(result) > 0]
    assert others in ([], ["pread64"])  # one read finds the batch's header, and reads a little more
    copied = [int(result) for name, given, result in calls if name != "sendfile" and SECRET[:25] in given]
    assert sum(copied) < len(records) / 10
