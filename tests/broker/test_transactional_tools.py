"""Kafka 4.3.1's own clients and tools against our broker: the second version of the transaction protocol, and
administration."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from octavo.broker.broker import Broker
from octavo.format.batches.batch import Origin
from octavo.format.batches.walker import walk
from octavo.storage.log.read import Isolation
from tests.broker.kafka_tools import TOOLS, Tools
from tests.broker.requests import batch
from tests.interop.clients import Consumer, Producer

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("broker")]

COMMAND = TOOLS + "TransactionsCommand"


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Broker]:
    configs = {"transaction.state.log.num.partitions": 1, "producer.id.expiration.ms": 1 << 30}
    with Broker(tmp_path / "logs", configs=configs) as broker:
        broker.logs.create_topic("t", 1)
        yield broker


def test_java(jvm: ModuleType, running: Broker) -> None:
    producer = Producer(jvm, running.bootstrap_servers, transactional_id="x")
    for number in range(9):
        producer.begin()
        producer.send("t", [(None, b"%d" % number)])
        producer.abort() if number % 3 == 2 else producer.commit()
    producer.begin()
    producer.abort()  # nothing was sent
    found = Consumer(jvm, running.bootstrap_servers, "read_committed").read("t")
    assert [record.value for record in found] == [b"0", b"1", b"3", b"4", b"6", b"7"]
    log = running.logs.log("t", 0)
    table = walk(log.read(0, 1 << 20, Isolation.LOG_END).read()).table
    assert table["producer_epoch"].tolist() == [epoch for number in range(9) for epoch in (number, number + 1)]


def test_a_later_java_producer_fences_the_earlier_one(jvm: ModuleType, running: Broker) -> None:
    first = Producer(jvm, running.bootstrap_servers, transactional_id="x")
    first.begin()
    first.send("t", [(None, b"lost")])
    second = Producer(jvm, running.bootstrap_servers, transactional_id="x")
    with pytest.raises(jvm.JClass("org.apache.kafka.common.KafkaException")):
        first.commit()
    second.begin()
    second.send("t", [(None, b"kept")])
    second.commit()
    found = Consumer(jvm, running.bootstrap_servers, "read_committed").read("t")
    assert [record.value for record in found] == [b"kept"]


def test_administration(jvm: ModuleType, running: Broker) -> None:
    tools = Tools(running.bootstrap_servers)
    producer = Producer(jvm, running.bootstrap_servers, transactional_id="x")
    producer.begin()
    producer.send("t", [(None, b"1")])
    producer_id = producer_of(running)
    assert [line.split()[:1] for line in tools.run(COMMAND, "list").splitlines()[1:]] == [["x"]]
    described = tools.run(COMMAND, "describe", "--transactional-id", "x")
    assert described.splitlines()[1].split()[1:5] == ["x", str(producer_id), "0", "Ongoing"]
    assert described.split()[-1] == "t-0"
    assert str(producer_id) in tools.run(COMMAND, "describe-producers", "--topic", "t", "--partition", "0")
    producer.commit()
    assert "CompleteCommit" in tools.run(COMMAND, "list")


def test_a_hanging_transaction_is_found_and_aborted(running: Broker) -> None:
    """It has no coordinator: only the partition knows about it."""
    tools, log = Tools(running.bootstrap_servers), running.logs.log("t", 0)
    origin = Origin(producer_id=7, producer_epoch=3, base_sequence=0, is_transactional=True)
    log.append_as_leader(bytearray(batch("hangs", origin=origin)), leader_epoch=log.leader_epoch)
    found = tools.run(
        COMMAND, "find-hanging", "--broker-id", str(running.logs.node_id), "--max-transaction-timeout", "1"
    )
    assert [line.split()[:3] for line in found.splitlines()[1:]] == [["t", "0", "7"]]
    assert log.last_stable_offset == 0
    tools.run(COMMAND, "abort", "--topic", "t", "--partition", "0", "--start-offset", "0")
    assert log.last_stable_offset == log.log_end_offset == 2


def producer_of(running: Broker) -> int:
    (known,) = running.logs.transactions().list()
    return known.producer_id
