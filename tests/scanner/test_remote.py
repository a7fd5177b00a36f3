"""Scans of other file systems: fsspec's memory, and S3 as simulated by moto's server."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import fsspec
import pytest

import octavo
from octavo.scanner.findings import ScanFindings
from octavo.scanner.log_dirs import distinct
from octavo.scanner.places.location import locate
from octavo.scanner.places.remote import RemoteFileSystem
from octavo.scanner.reading.arrow import read_tasks
from octavo.system.os_errors import described
from tests.golden import archives
from tests.s3 import KEY, SECRET, Server, s3_server

ARCHIVE = "v431-killed"
SHOWN_BYTES = 200_000  # how much of each file is copied; only pre-sized indexes are larger, and end with zeros


@pytest.fixture(scope="module")
def s3() -> Iterator[Server]:
    with s3_server() as server:
        server.put("logs", archives.unpack(ARCHIVE), SHOWN_BYTES)
        yield server


@pytest.fixture
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "s3":
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        server: Server = request.getfixturevalue("s3")
        return server.url("logs")
    root, memory = archives.unpack(ARCHIVE), fsspec.filesystem("memory")
    for file in archives.files(ARCHIVE):
        memory.pipe(f"/scan/{file.relative_to(root)}", file.read_bytes()[:SHOWN_BYTES])
    return "memory://scan"


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


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("", 15), ("?scheme=http", 15), ("?retry_limit_seconds=300", 300), ("?scheme=http&retry_limit_seconds=2", 2)],
)
def test_googles_client_does_not_retry_for_a_quarter_of_an_hour(given: str, seconds: int) -> None:
    pytest.importorskip("pyarrow._gcsfs")
    place = locate(f"gs://anonymous@bucket/logs{given}")
    assert isinstance(place.file_system, RemoteFileSystem)
    (settings,) = place.file_system.file_system.__reduce__()[1]
    assert (place.path, settings["retry_time_limit"]) == ("bucket/logs", timedelta(seconds=seconds))


def test_googles_errors_are_shortened() -> None:
    class Unreachable:
        def get_file_info(self, _: str) -> None:
            raise OSError("google::cloud::Status(UNAVAILABLE: Could not resolve hostname error_info={reason=,\n}})")

    with pytest.raises(OSError, match="UNAVAILABLE") as error:
        RemoteFileSystem(Unreachable(), "gs://").entry("bucket/logs")
    assert described(error.value) == "gs://bucket/logs: UNAVAILABLE: Could not resolve hostname"


class _Refusal(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.send_response(403)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_a_store_that_refuses_the_request_is_a_question_of_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refusal) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            url = f"s3://bucket/logs?region=x&endpoint_override=http://127.0.0.1:{server.server_port}"
            with pytest.raises(
                OSError, match=r"ACCESS_DENIED .*; no credentials, or wrong ones\? Set AWS_ACCESS_KEY_ID"
            ):
                octavo.scan(url)
        finally:
            server.shutdown()


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
    with pytest.raises(octavo.ScanError, match="nowhere: no such file or directory"):
        octavo.scan(f"{head}/nowhere{mark}{query}")


@pytest.mark.parametrize("scheme", ["s3a", "s3n", "S3A"])
def test_hadoops_names_for_s3_mean_s3(s3: Server, scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    there = octavo.scan(s3.url("logs", scheme), "crash.plain", columns=["offset"])
    assert there.to_table().num_rows == 271


def test_two_servers_are_two_places(s3: Server) -> None:
    """The same bucket and path on another server are a different place."""
    here, there = s3.url("logs"), s3.url("logs").replace("endpoint_override=127", "endpoint_override=126")
    assert len(distinct([here, there, here])) == 2


@pytest.mark.parametrize(
    "url",
    [
        f"s3://{KEY}:{SECRET}@octavo/nowhere?QUERY",
        f"s3://{KEY}:{SECRET.replace('/', '%2F')}@octavo/nowhere?QUERY",
        f"s3a://{KEY}:{SECRET}@octavo/logs?secret_key=hidden&QUERY",
        f"nope://{KEY}:{SECRET}@octavo/logs",
        f"hdfs://{KEY}:{SECRET}@octavo/logs",
        f"file://{KEY}:{SECRET}@octavo/logs",
    ],
)
def test_credentials_are_in_no_error(s3: Server, url: str) -> None:
    with pytest.raises(octavo.ScanError) as raised:
        octavo.scan(url.replace("QUERY", s3.query))
    error: BaseException | None = raised.value
    while error is not None:  # a traceback shows the causes, too
        assert "s3cr3t" not in str(error), str(error)
        assert KEY not in str(error)
        assert "hidden" not in str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def test_credentials_are_in_no_form_of_a_scan(s3: Server) -> None:
    url = f"s3://{KEY}:{SECRET.replace('/', '%2F')}@octavo/logs?{s3.query}"
    scan = octavo.scan(url, "crash.plain", split_bytes=2000)
    shown = f"{locate(url)} {locate(url)!r} {scan!r} {scan.plan()!r} {scan.notes!r}"
    assert "s3cr3t" not in shown
    assert KEY not in shown


def test_what_the_store_refuses_is_named_by_its_url(s3: Server) -> None:
    with pytest.raises(OSError, match="crash") as raised:
        locate(f"{s3.url('logs/crash.plain-0').replace('octavo/', f'{KEY}:x@octavo/')}").read()  # a folder
    assert raised.value.filename == "s3://octavo/logs/crash.plain-0"
