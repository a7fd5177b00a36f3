"""The reading commands and a read-only broker on the directory of a broker that appends, rolls, compacts and deletes at
the same time.

The commands run for 30 seconds; in `make soak`, for ten minutes (OCTAVO_LIVE_SECONDS=600).
"""

from __future__ import annotations

import base64
import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from confluent_kafka import Consumer, TopicPartition

import octavo as octavo_library
from tests.cli.runs import Run, octavo
from tests.interop.broker import Broker
from tests.interop.clients import Acknowledged
from tests.interop.workload import Workload

pytestmark = pytest.mark.kafka

SECONDS = float(os.environ.get("OCTAVO_LIVE_SECONDS", "30"))
Given = dict[int, tuple[bytes | None, bytes | None]]


@pytest.fixture
def workload(jvm: ModuleType, broker: Broker) -> Iterator[Workload]:
    """Each test has its own topics, since all use one broker."""
    seed = random.randrange(1 << 30)
    busy = Workload(jvm, broker.bootstrap_servers, f"live-{os.getpid()}-{seed}", seed=seed)
    busy.start()
    yield busy
    busy.stop()


class Reader:
    """Runs commands on a directory and keeps their results."""

    def __init__(self, log_dir: Path, scratch: Path, workload: Workload) -> None:
        self.runs = 0
        self.given: dict[str, Given] = {}
        self._log_dir = log_dir
        self._output = scratch / "records"
        self._workload = workload

    def run(self, command: str, *arguments: str) -> Run:
        run = octavo(command, str(self._log_dir), *arguments)
        self.runs += 1
        assert run.exit == 0, f"{command} {arguments}: {run.stdout[-2000:]} {run.stderr[-2000:]}"
        assert "Traceback" not in run.stderr
        return run

    def cat(self, topic: str, isolation: str = "read_uncommitted") -> Given:
        line = "--topic", topic, "--isolation-level", isolation, "--bytes", "base64", "--output", str(self._output)
        self.run("cat", *line)
        given: Given = {}
        last = -1
        for text in self._output.read_text().split("\n")[:-1]:
            row = json.loads(text)
            assert row["offset"] > last
            last = row["offset"]
            given[last] = _content(row["key"]), _content(row["value"])
        self.given.setdefault(topic, {}).update(given)
        return given

    def check_round(self) -> None:
        """Run each command once; everything confirmed before it began must be there."""
        work = self._workload
        self._check_plain(work.acknowledged(work.plain))
        self._check_retained(work.acknowledged(work.retained))
        self._check_compacted(work.acknowledged(work.compacted))
        committed = work.committed()
        found = self.cat(work.transactional, "read_committed")
        assert missing(found, committed) == []
        self._check_lookups(work.acknowledged(work.plain))
        summary = json.loads(self.run("verify", "--json").stdout.splitlines()[-1])
        assert summary["problems"] == 0
        assert summary["segments"] > 0

    def _check_plain(self, before: list[Acknowledged]) -> None:
        assert missing(self.cat(self._workload.plain), before) == []
        (row,) = map(json.loads, self.run("topics", "--json", "--topic", self._workload.plain).stdout.splitlines())
        assert row["records"] >= len(before)
        assert row["records"] == row["logEndOffset"]
        self.run("topics", "--json")

    def _check_retained(self, before: list[Acknowledged]) -> None:
        """Everything must be there, from wherever the log started."""
        found = self.cat(self._workload.retained)
        first = min(found, default=0)
        assert missing(found, [record for record in before if record.offset >= first]) == []

    def _check_compacted(self, before: list[Acknowledged]) -> None:
        """The last record of each key must be there, unless a later one replaced it, or it was an expired tombstone."""
        found = self.cat(self._workload.compacted)
        newest = {key: offset for offset, (key, _) in found.items()}
        for key, record in {record.key: record for record in before}.items():
            assert record.value is None or newest[key] >= record.offset

    def _check_lookups(self, before: list[Acknowledged]) -> None:
        place = "--json", "--topic", self._workload.plain, "--partition", "0"
        for record in random.sample(before, min(len(before), 3)):
            found = json.loads(self.run("lookup", *place, "--offset", str(record.offset)).stdout)
            assert (found["offset"], found["timestamp"]) == (record.offset, record.timestamp)
            found = json.loads(self.run("lookup", *place, "--timestamp", str(record.timestamp)).stdout)
            assert found["offset"] <= record.offset
            assert found["timestamp"] >= record.timestamp
        end = json.loads(self.run("lookup", *place, "--timestamp", "-1").stdout)
        assert end["offset"] >= len(before)


def test_commands_read_a_live_directory(broker: Broker, workload: Workload, tmp_path: Path) -> None:
    reader = Reader(broker.log_dir, tmp_path, workload)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end or reader.runs < 10:
        reader.check_round()
        assert workload.errors == []
    workload.stop()
    assert workload.errors == []
    assert broker.is_running
    for topic, given in reader.given.items():
        confirmed = {record.offset: (record.key, record.value) for record in workload.acknowledged(topic)}
        assert {offset: content for offset, content in given.items() if confirmed.get(offset) != content} == {}
        assert given


def test_a_read_only_broker_serves_a_live_directory(broker: Broker, workload: Workload) -> None:
    """It serves a prefix of the log: everything that was confirmed before it began, and nothing that is appended
    later."""
    topic, rounds, sizes = workload.plain, 0, set()
    end = time.monotonic() + SECONDS / 3
    while time.monotonic() < end or rounds < 3:
        before = workload.acknowledged(topic)
        with octavo_library.Broker(broker.log_dir, read_only=True) as served:
            found = consumed(served, topic)
            assert workload.acknowledged(topic)[len(before) :], "nothing was appended meanwhile"
            assert consumed(served, topic) == found
            sizes.add(len(served.logs.log(topic, 0).segments))
        assert list(found) == list(range(len(found)))
        assert missing(found, before) == []
        confirmed = {record.offset: (record.key, record.value) for record in workload.acknowledged(topic)}
        assert {offset: content for offset, content in found.items() if confirmed.get(offset, content) != content} == {}
        rounds += 1
    workload.stop()
    assert workload.errors == []
    assert broker.is_running
    assert len(sizes) > 1, "nothing was rolled meanwhile"


def consumed(served: octavo_library.Broker, topic: str) -> Given:
    """What librdkafka reads up to the end."""
    consumer = Consumer({"bootstrap.servers": served.bootstrap_servers, "group.id": "g", "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: Given = {}
    while (message := consumer.poll(20)) is not None and message.error() is None:
        found[message.offset() or 0] = message.key(), message.value()
    assert message is not None, f"no more records after {len(found)}"
    consumer.close()
    return found


def missing(found: Given, expected: list[Acknowledged]) -> list[Acknowledged]:
    return [record for record in expected if found.get(record.offset) != (record.key, record.value)]


def _content(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
