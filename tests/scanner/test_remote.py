"""Scans of other file systems: fsspec's memory, and S3 as moto's server plays it."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import fsspec
import pytest
from moto.server import ThreadedMotoServer

import octavo
from octavo.scanner.findings import ScanFindings
from octavo.scanner.reading.arrow import read_tasks
from tests.golden import archives

ARCHIVE = "v431-killed"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The URL's query for a server of this test alone; the archive is in its bucket `octavo`."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    try:
        address = "{}:{}".format(*server.get_host_and_port())
        client = boto3.client(
            "s3", endpoint_url=f"http://{address}", region_name="us-east-1",
            aws_access_key_id="key", aws_secret_access_key="secret",
        )  # fmt: skip
        client.create_bucket(Bucket="octavo")
        root = archives.unpack(ARCHIVE)
        for file in archives.files(ARCHIVE):
            client.put_object(Bucket="octavo", Key=f"logs/{file.relative_to(root)}", Body=_content(file))
        yield f"scheme=http&endpoint_override={address}&region=us-east-1"
    finally:
        server.stop()


@pytest.fixture
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "s3":
        for name, value in CREDENTIALS.items():
            monkeypatch.setenv(name, value)
        return f"s3://octavo/logs?{request.getfixturevalue('s3')}"
    root, memory = archives.unpack(ARCHIVE), fsspec.filesystem("memory")
    for file in archives.files(ARCHIVE):
        memory.pipe(f"/scan/{file.relative_to(root)}", _content(file))
    return "memory://scan"


def _content(file: Path) -> bytes:
    """A file's bytes; of a pre-sized index a shorter tail of zeros is as good."""
    return file.read_bytes()[:200_000]


@pytest.mark.parametrize("place", ["memory", "s3"], indirect=True)
@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_a_scan_is_the_same_wherever_the_files_are(place: str, isolation: str) -> None:
    options: dict[str, Any] = {
        "topics": ["crash.plain", "crash.txn"],
        "isolation_level": isolation,
        "split_bytes": 5000,
    }
    there, here = octavo.scan(place, **options), octavo.scan(archives.unpack(ARCHIVE), **options)
    assert there.to_table() == here.to_table()
    assert there.to_table().num_rows > 300
    assert list(there.records()) == list(here.records())


@pytest.mark.parametrize("place", ["memory", "s3"], indirect=True)
def test_a_partition_and_times_are_found_there_too(place: str) -> None:
    head, mark, query = place.partition("?")
    folder = f"{head}/crash.plain-0{mark}{query}"
    here = archives.unpack(ARCHIVE) / "crash.plain-0"
    timestamp = octavo.scan(here, columns=["timestamp"]).to_table()["timestamp"].cast("int64").to_pylist()[100]
    bounds = {"from_timestamp": timestamp, "to_offset": 200}
    assert list(octavo.scan(folder, **bounds)) == list(octavo.scan(here, **bounds))


@pytest.mark.parametrize("place", ["memory", "s3"], indirect=True)
def test_tasks_carry_their_file_system(place: str) -> None:
    tasks = pickle.loads(pickle.dumps(octavo.scan(place, "crash.plain", columns=["offset"], split_bytes=2000).plan()))
    rows = [row for batch in read_tasks(tasks, ("offset",), ScanFindings()) for row in batch.column(0).to_pylist()]
    assert rows == list(range(271))


@pytest.mark.parametrize("place", ["memory", "s3"], indirect=True)
def test_what_is_not_there_is_one_sentence(place: str) -> None:
    head, mark, query = place.partition("?")
    with pytest.raises(octavo.ScanError, match="nowhere: no such log directory"):
        octavo.scan(f"{head}/nowhere{mark}{query}")
