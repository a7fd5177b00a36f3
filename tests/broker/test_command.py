"""`octavo broker` in its own process."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import octavo
from octavo.cli import main
from octavo.format.protocol.apis import METADATA, PRODUCE
from tests.broker.raw import RawClient
from tests.broker.requests import batch, produced
from tests.cli.runs import octavo as octavo_command


def test_it_serves_until_sigterm_and_stops_cleanly(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "octavo", "broker", str(tmp_path / "logs"), "--listen", "127.0.0.1:0"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        host, _, port = process.stdout.readline().removeprefix("listening on ").strip().rpartition(":")
        with RawClient((host, int(port))) as client:
            assert client.ask(METADATA, 12, {"topics": [{"name": "t"}]}) is not None
            answer = client.ask(PRODUCE, 9, produced("t", 0, batch("kept")))
            assert answer is not None
            assert answer["responses"][0]["partitionResponses"][0]["errorCode"] == 0
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert (tmp_path / "logs" / ".kafka_cleanshutdown").exists()
    assert [record.value for record in octavo.scan(tmp_path / "logs").records()] == [b"kept"]


def test_it_does_not_listen_beyond_this_machine_unasked(tmp_path: Path) -> None:
    assert main(["broker", str(tmp_path / "logs"), "--listen", "0.0.0.0:0"]) == 2
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize("option", ["--listen", "--metrics"])
def test_an_address_in_use_is_named_with_what_to_do(option: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        listen = () if option == "--listen" else ("--listen", "127.0.0.1:0")
        run = octavo_command("broker", str(tmp_path / "logs"), option, address, *listen)
    problem = "Address already in use; stop what listens there, or choose another port (0: any free one)"
    assert (run.exit, run.stderr) == (1, f"octavo: {address}: {problem}\n")
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize("option", ["listen", "metrics"])
def test_a_broker_in_this_process_creates_nothing_for_an_address_in_use(option: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="Address already in use"):
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        octavo.Broker(
            tmp_path / "logs",
            listen=address if option == "listen" else None,
            metrics=address if option == "metrics" else None,
        )
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize("option", ["--config-file", "--config"])
def test_configs_that_it_does_not_use_are_named(option: str, tmp_path: Path) -> None:
    properties = tmp_path / "server.properties"
    properties.write_text(
        "num.partitions=7\nzookeeper.connect=there\nlog.dirs=elsewhere\nlog.cleaner.io.buffer.size=9\n"
    )
    line = [sys.executable, "-m", "octavo", "broker", str(tmp_path / "logs"), "--listen", "127.0.0.1:0"]
    with subprocess.Popen(
        [*line, option, str(properties)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().rpartition(":")[2])
        with RawClient(("127.0.0.1", port)) as client:
            answer = client.ask(METADATA, 12, {"topics": [{"name": "t"}]})
        assert answer is not None
        assert len(answer["topics"][0]["partitions"]) == 7
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
    assert said.splitlines() == [
        f"octavo: {properties}: log.cleaner.io.buffer.size is not used",
        f"octavo: {properties}: log.dirs is not used",
        f"octavo: {properties}: zookeeper.connect is not used",
    ]


def test_a_config_overrides_the_files_wherever_it_stands(tmp_path: Path) -> None:
    for name, address in (("first", "no address"), ("second", "no address either")):
        (tmp_path / name).write_text(f"listeners={address}\n")
    files = ("--config-file", str(tmp_path / "first"), "--config", str(tmp_path / "second"))
    run = octavo_command("broker", str(tmp_path / "logs"), "--config", "listeners=nowhere", *files)
    expected = "[PROTOCOL://]host:port with a port of at most 65535"
    assert (run.exit, run.stderr) == (2, f"octavo: address 'nowhere' is not {expected}\n")
    run = octavo_command("broker", str(tmp_path / "logs"), *files)
    assert (run.exit, run.stderr) == (2, f"octavo: address 'no address either' is not {expected}\n")


def test_a_config_without_a_value_that_is_not_a_file_either(tmp_path: Path) -> None:
    run = octavo_command("broker", str(tmp_path / "logs"), "--config", "num.partitions")
    assert run.exit == 2
    assert "'num.partitions', expected KEY=VALUE or the path of a properties file" in run.stderr
