"""A read-only broker over log directories at URLs."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from confluent_kafka import Consumer, TopicPartition

import octavo
from octavo.broker.broker import Broker
from octavo.errors import KafkaStorageError, LogDirError
from octavo.format.protocol import apis
from octavo.jobs import url_files
from octavo.scanner.places.remote import RemoteFile, RemoteFileSystem
from tests.broker.librdkafka import SECONDS, consume
from tests.broker.raw import RawClient
from tests.cli.runs import octavo as octavo_command
from tests.golden import archives
from tests.s3 import KEY, SECRET, Server, s3_server

STOPPED, KILLED = "v431-killed-recovered", "v431-killed"
IN_URL = f"{KEY}:{SECRET.replace('/', '%2F')}@"
Record = tuple[int | None, tuple[int, int], bytes | None, bytes | None, Any]


@pytest.fixture(scope="module")
def s3() -> Iterator[Server]:
    with s3_server() as server:
        server.put("logs", archives.unpack(STOPPED))
        yield server


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files; nothing stays there."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, int]]:
    """How often each part of a file is read from a store; files consist of several parts."""
    reads: Counter[tuple[str, int]] = Counter()
    pread = RemoteFile.pread

    def counted(file: RemoteFile, buffer: memoryview, position: int) -> int:
        reads[file._shown, position] += 1
        return pread(file, buffer, position)

    monkeypatch.setattr(RemoteFile, "pread", counted)
    monkeypatch.setattr(url_files, "_BLOCK_BYTES", 4096)
    return reads


def in_memory(root: Path, name: str) -> str:
    """The URL of a copy, in memory, of the files below a folder."""
    memory = fsspec.filesystem("memory")
    for file in root.rglob("*"):
        if file.is_file():
            memory.pipe(f"/{name}/{file.relative_to(root)}", file.read_bytes())
    return f"memory://{name}"


def contents(name: str) -> dict[str, tuple[bytes, object]]:
    memory = fsspec.filesystem("memory")
    return {path: (memory.cat(path), memory.modified(path)) for path in memory.find(f"/{name}")}


def everything(broker: Broker) -> dict[str, list[Record]]:
    """All records of all partitions, as librdkafka gets them."""
    found: dict[str, list[Record]] = {str(one): [] for one in broker.logs.logs}
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "enable.partition.eof": True})
    consumer.assign([TopicPartition(*one, log.log_start_offset) for one, log in broker.logs.logs.items()])
    for _ in found:  # each partition has one end
        while (message := consumer.poll(SECONDS)) is not None and message.error() is None:
            place = f"{message.topic()}-{message.partition()}"
            record = message.offset(), message.timestamp(), message.key(), message.value(), message.headers()
            found[place].append(record)
        assert message is not None, f"no more records after {found}"
    consumer.close()
    return found


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    """The stopped broker's directory, with credentials in the URL if it is S3's."""
    if request.param == "memory":
        return in_memory(archives.unpack(STOPPED), "stopped")
    if request.param == "file":
        return archives.unpack(STOPPED).as_uri()
    server: Server = request.getfixturevalue("s3")
    return server.url("logs", request.param).replace("://", f"://{IN_URL}", 1)


@pytest.mark.parametrize("url", ["s3", "s3a", "memory", "file"], indirect=True)
def test_records_are_those_of_the_directory(url: str) -> None:
    with Broker(archives.unpack(STOPPED), read_only=True) as here, Broker(url, read_only=True) as there:
        records = everything(there)
        assert records == everything(here)
        assert sum(map(len, records.values())) > 2000


def test_a_killed_brokers_directory_is_recovered_in_memory() -> None:
    url = in_memory(archives.unpack(KILLED), "killed")
    before = contents("killed")
    with Broker(archives.unpack(KILLED), read_only=True) as here, Broker(url, read_only=True) as there:
        losses = [str(loss).removeprefix(url) for loss in there.logs.recovery]
        assert losses == [str(loss).removeprefix(str(archives.unpack(KILLED))) for loss in here.logs.recovery]
        assert len(losses) == 1
        assert everything(there) == everything(here)
    assert contents("killed") == before


def test_nothing_is_written_to_the_store(s3: Server) -> None:
    before = s3.state()
    with Broker(s3.url("logs").replace("://", f"://{IN_URL}", 1), read_only=True) as broker:
        everything(broker)
    assert s3.state() == before


def test_only_what_is_read_is_fetched_and_only_once(fetched: Counter[tuple[str, int]], scratch: Path) -> None:
    url, path = in_memory(archives.unpack(STOPPED), "counted"), f"crash.prealloc-0/{0:020}.log"
    size = (archives.unpack(STOPPED) / path).stat().st_size

    def parts() -> list[int]:
        return sorted(position for place, position in fetched if place == f"{url}/{path}")

    with Broker(url, read_only=True) as broker:
        (folder,) = scratch.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert parts() == []  # nobody has read this segment yet
        assert broker.logs.log("crash.prealloc", 0).read(0, 10_000).size == 10_000
        assert parts() == [0, 4096, 8192]
        assert everything(broker) == everything(broker)
        assert parts() == list(range(0, size, 4096))
        assert max(fetched.values()) == 1


def test_local_directories_and_urls_are_served_together(tmp_path: Path) -> None:
    disks = [tmp_path / "a", tmp_path / "b"]
    with octavo.LogDir(disks, create=True) as logs:
        logs.create_topic("t", 4)
        with logs.producer() as producer:
            for number in range(40):
                producer.send("t", b"%d" % number, partition=number % 4)
    with Broker([disks[0], in_memory(disks[1], "disk")], read_only=True) as broker:
        found = consume({"bootstrap.servers": broker.bootstrap_servers}, "t", 4, 40)
        assert sorted(map(int, found)) == list(range(40))


def test_a_directory_is_described_by_its_url(s3: Server) -> None:
    with (
        Broker(s3.url("logs").replace("://", f"://{IN_URL}", 1), read_only=True) as broker,
        RawClient(broker.address) as client,
    ):
        answer = client.ask(apis.DESCRIBE_LOG_DIRS, 4, {"topics": None})
        shown = f"{broker!r} {broker.logs!r} {broker.logs.paths!r} {answer!r}"
    assert answer is not None
    (row,) = answer["results"]
    assert (row["logDir"], row["totalBytes"], row["usableBytes"]) == ("s3://octavo/logs", -1, -1)
    assert len(row["topics"]) == 8
    assert "s3cr3t" not in shown
    assert KEY not in shown


def test_the_command_serves_a_url(s3: Server) -> None:
    url = s3.url("logs").replace("://", f"://{IN_URL}", 1)
    line = [sys.executable, "-m", "octavo", "broker", url, "--read-only", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        listening = process.stdout.readline()
        servers: dict[str, Any] = {"bootstrap.servers": listening.removeprefix("listening on ").strip()}
        assert len(consume(servers, "crash.plain", 1, 271)) == 271
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (0, "")


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        ("octavo/nowhere?QUERY", "octavo/nowhere: no such file or directory"),
        ("octavo/logs/crash.plain-0?QUERY", "octavo/logs/crash.plain-0: this is a partition's folder"),
        ("octavo/logs?scheme=http&endpoint_override=127.0.0.1:1", "octavo/logs: .*NETWORK_CONNECTION.*; check the URL"),
    ],
)
def test_a_place_that_cannot_be_served_is_reported_in_one_sentence(s3: Server, place: str, problem: str) -> None:
    with pytest.raises(octavo.OctavoError, match=f"^s3://{problem}") as refused:
        Broker(f"s3://{IN_URL}{place.replace('QUERY', s3.query)}", read_only=True)
    assert "\n" not in str(refused.value)
    assert "s3cr3t" not in str(refused.value)
    assert KEY not in str(refused.value)


def test_the_command_shows_no_credentials(s3: Server) -> None:
    run = octavo_command("broker", f"s3://{IN_URL}octavo/nowhere?{s3.query}", "--read-only", "--listen", "127.0.0.1:0")
    expected = "expected a log directory, a partition's folder or a segment file"
    problem = f"octavo: s3://octavo/nowhere: no such file or directory; {expected}\n"
    assert (run.exit, run.stdout, run.stderr) == (1, "", problem)


def test_a_url_given_twice_is_refused() -> None:
    url = in_memory(archives.unpack(STOPPED), "twice")
    with pytest.raises(LogDirError, match="named twice: memory://twice, memory://twice"):
        Broker([url, f"{url}/"], read_only=True)


def test_a_url_is_only_read() -> None:
    with pytest.raises(
        LogDirError, match=r"s3://octavo/logs: cannot change .*octavo copy URL DIR.* broker --read-only"
    ):
        Broker(f"s3://{IN_URL}octavo/logs")


def test_a_store_that_fails_for_a_moment_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    url = in_memory(archives.unpack(STOPPED), "shaky")
    with Broker(url, read_only=True) as broker:
        log = broker.logs.log("crash.plain", 0)

        def fail(*_: object) -> None:
            raise OSError(5, "the connection was reset", f"{url}/somewhere")

        with monkeypatch.context() as broken:
            broken.setattr(RemoteFileSystem, "open", fail)
            with pytest.raises(KafkaStorageError, match=f"crash.plain-0: cannot read: {url}/somewhere: the connection"):
                log.read(0, 100)
        assert broker.logs.offline == {}
        assert log.read(0, 100).size


def test_a_file_that_has_become_shorter_is_not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    url = in_memory(archives.unpack(STOPPED), "shorter")
    with Broker(url, read_only=True) as broker:
        fsspec.filesystem("memory").pipe(f"/shorter/crash.plain-0/{0:020}.log", b"short")
        with pytest.raises(KafkaStorageError, match="the file is shorter than when it was listed"):
            broker.logs.log("crash.plain", 0).read(0, 100)


def test_a_partition_that_cannot_be_read_is_named(caplog: pytest.LogCaptureFixture) -> None:
    url = in_memory(archives.unpack(STOPPED), "damaged")
    fsspec.filesystem("memory").pipe("/damaged/crash.txn-0/partition.metadata", b"nonsense")
    with Broker(url, read_only=True) as broker:
        assert "crash.txn" not in broker.logs.topics
        assert "crash.plain" in broker.logs.topics
    assert f"{url}/crash.txn-0 is not served: {url}/crash.txn-0/partition.metadata" in caplog.text
