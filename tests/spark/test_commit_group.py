"""commitGroup: a stream's progress as a group's offsets, in a directory that is free, or sent to a broker."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import trustme
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

import octavo
from octavo.errors import ConfigError, LogDirLockedError, OctavoError
from octavo.testing import Kafka

pytest.importorskip("pyspark", reason="pyspark is not installed (pip install octavo[spark])")

from octavo.format.names import TopicPartition
from octavo.spark.query.source_options import SourceOptions
from octavo.spark.query.stream_options import StreamOptions
from octavo.spark.query.values import Address, addresses
from octavo.spark.source.broker_commits import BrokerCommits
from octavo.spark.source.stream_reader import StreamReader, stream_reader
from tests.broker.kafka_tools import TOOLS, Tools
from tests.broker.librdkafka import Servers
from tests.interop.broker import Broker, free_ports
from tests.spark.queries import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")  # one real broker for all, in the worker that has the session

GROUP = {"commitGroup": "reports", "startingOffsets": "earliest"}
ORDERS_0 = TopicPartition("orders", 0)
SECONDS = 60


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    with octavo.LogDir(tmp_path / "logs", create=True, configs={"offsets.topic.num.partitions": 3}) as log_dir:
        log_dir.create_topic("orders", partitions=2)
        with log_dir.producer() as producer:
            for number in range(90):
                producer.send("orders", value=str(number), partition=number % 2)
    return tmp_path / "logs"


def reader(logs: Path, **options: str) -> StreamReader:
    given: dict[str, Any] = {"path": str(logs), **GROUP, **options}
    return stream_reader(given, SourceOptions.of(given).schema())


def committed(logs: Path) -> dict[int, int]:
    with octavo.LogDir(logs) as log_dir, log_dir.consumer("orders", group="reports") as consumer:
        found = {number: consumer.committed(("orders", number)) for number in range(2)}
    return {number: offset.offset for number, offset in found.items() if offset is not None}


def test_each_commit_is_the_groups_next_offset(logs: Path) -> None:
    stream = reader(logs)
    start = stream.initialOffset()
    assert committed(logs) == {}
    stream.latestOffset(start, stream.getDefaultReadLimit())
    assert committed(logs) == {0: 0, 1: 0}, "the lag shows before the first micro-batch"
    stream.commit({"orders": {"0": 7, "1": 3}, "deleted": {"0": 5}})
    stream.commit({"orders": {"0": 9, "1": 3}})
    assert committed(logs) == {0: 9, 1: 3}


def test_a_directory_that_another_holds_is_refused_before_a_record_is_read(logs: Path) -> None:
    stream = reader(logs, lockTimeout="0s")
    start = stream.initialOffset()
    with octavo.LogDir(logs):
        with pytest.raises(LogDirLockedError, match=r"commitGroup writes the stream's offsets there"):
            stream.latestOffset(start, stream.getDefaultReadLimit())
        with pytest.raises(LogDirLockedError, match=r"host:port as commitServers.*leave commitGroup out"):
            stream.commit({"orders": {"0": 7}})
    stream.commit({"orders": {"0": 7}})
    assert committed(logs) == {0: 7}


def test_only_whole_local_directories_can_have_a_group(logs: Path) -> None:
    for place in (logs / "orders-0", "s3://bucket/logs"):
        with pytest.raises(ConfigError, match=r"give whole local log directories, or .* as commitServers"):
            reader(logs, path=str(place))
    with pytest.raises(ConfigError, match="commitGroup is empty"):
        reader(logs, commitGroup=" ")


class Beside(NamedTuple):
    """A running broker, and the directory that it holds."""

    logs: Path
    server: str

    def reader(self, **options: str) -> StreamReader:
        return reader(self.logs, **{"commitServers": self.server, **options})


@pytest.fixture(scope="module", params=["octavo", pytest.param("kafka", marks=pytest.mark.kafka)])
def beside(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beside]:
    """An octavo.Broker or a real one, with 90 records in two partitions."""
    folder = tmp_path_factory.mktemp("beside")
    if request.param == "octavo":
        with octavo.Broker(folder / "logs") as ours:
            yield filled(Beside(folder / "logs", ours.bootstrap_servers))
    else:
        real = Broker(folder)
        real.start()
        try:
            yield filled(Beside(real.log_dir, real.bootstrap_servers))
        finally:
            real.kill()


def filled(beside: Beside) -> Beside:
    servers: Servers = {"bootstrap.servers": beside.server}
    admin = AdminClient(servers)
    admin.create_topics([NewTopic("orders", 2, 1)])["orders"].result(SECONDS)
    producer = Producer(servers)
    for number in range(90):
        producer.produce("orders", str(number), partition=number % 2)
    assert producer.flush(SECONDS) == 0
    return beside


def lags(server: str, group: str = "reports") -> list[list[str]]:
    """Partition, committed offset, end and lag, as kafka-consumer-groups shows them."""
    said = Tools(server).run(f"{TOOLS}consumer.group.ConsumerGroupCommand", "--describe", "--group", group)
    return sorted(line.split()[2:6] for line in said.splitlines() if line.startswith(f"{group} "))


@pytest.mark.kafka
def test_lag_tools_see_a_stream_beside_the_broker(beside: Beside) -> None:
    stream = beside.reader()
    start = stream.initialOffset()
    stream.latestOffset(start, stream.getDefaultReadLimit())
    assert lags(beside.server) == [["0", "0", "45", "45"], ["1", "0", "45", "45"]]
    stream.commit({"orders": {"0": 7, "1": 45}, "deleted": {"0": 5}})
    assert lags(beside.server) == [["0", "7", "45", "38"], ["1", "45", "45", "0"]]


def test_a_query_commits_to_the_broker(spark: SparkSession, beside: Beside) -> None:
    options = {**GROUP, "commitGroup": "queried", "commitServers": beside.server, "maxOffsetsPerTrigger": "30"}
    stream = spark.readStream.format("octavo").options(**options).load(str(beside.logs))
    run(stream.writeStream.format("noop"))
    consumer = Consumer({"bootstrap.servers": beside.server, "group.id": "queried"})
    try:
        found = consumer.committed([Place("orders", 0), Place("orders", 1)], SECONDS)
    finally:
        consumer.close()
    assert {partition.partition: partition.offset for partition in found} == {0: 45, 1: 45}


def test_a_group_with_members_is_refused(beside: Beside) -> None:
    stream = beside.reader(commitGroup="members")
    start = stream.initialOffset()
    member = Consumer({"bootstrap.servers": beside.server, "group.id": "members", "auto.offset.reset": "earliest"})
    try:
        member.subscribe(["orders"])
        assert member.poll(SECONDS) is not None
        refused = (
            r"broker \S+:\d+ refused the offset of orders-0 for group 'members' \(UNKNOWN_MEMBER_ID\): the group has"
        )
        with pytest.raises(OctavoError, match=refused):
            stream.latestOffset(start, stream.getDefaultReadLimit())
    finally:
        member.close()
    stream.latestOffset(start, stream.getDefaultReadLimit())  # the group is empty again


def test_a_topic_that_the_broker_does_not_have_is_refused(logs: Path, beside: Beside) -> None:
    with octavo.LogDir(logs) as log_dir:
        log_dir.create_topic("elsewhere", partitions=1)
    stream = reader(logs, commitServers=beside.server, subscribe="elsewhere", lockTimeout="0s")
    start = stream.initialOffset()
    with pytest.raises(OctavoError, match=r"elsewhere-0 .*UNKNOWN_TOPIC_OR_PARTITION.* brokers of the right cluster"):
        stream.latestOffset(start, stream.getDefaultReadLimit())


def test_nothing_is_read_if_no_broker_answers(logs: Path) -> None:
    nobody = f"127.0.0.1:{free_ports(1)[0]}"
    for servers, problem in {
        nobody: f"{nobody}: Connection refused",
        f"{nobody},nowhere.invalid:9092": f"{nobody}: Connection refused; nowhere.invalid:9092: ",
        "a..b:9092": "a..b:9092: ",
    }.items():
        stream = reader(logs, commitServers=servers, lockTimeout="0s")
        start = stream.initialOffset()
        with pytest.raises(OctavoError, match=f"group 'reports' could not be committed: {problem}.*leave commitGroup"):
            stream.latestOffset(start, stream.getDefaultReadLimit())


def test_a_listener_with_tls_or_a_login_is_refused(logs: Path, tmp_path: Path) -> None:
    trustme.CA().issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(tmp_path / "server.pem")
    configs = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(tmp_path / "server.pem"),
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
    }
    listen = ["SSL://127.0.0.1:0", "SASL_PLAINTEXT://127.0.0.1:0"]
    with octavo.Broker(logs, listen=listen, configs=configs) as broker:
        for address in broker.addresses.values():
            stream = reader(logs, commitServers=str(address), lockTimeout="0s")
            with pytest.raises(OctavoError, match=r"PLAINTEXT listener of a Kafka broker, without TLS and without a"):
                stream.latestOffset(stream.initialOffset(), stream.getDefaultReadLimit())


def test_a_server_that_is_not_a_broker_is_refused_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as threads:
        greeting = threads.submit(lambda: listening.accept()[0].sendall(b"SSH-2.0-OpenSSH_9.6\r\n"))
        server = f"127.0.0.1:{listening.getsockname()[1]}"
        commits = BrokerCommits("reports", addresses("commitServers", server), SECONDS, lambda _: pytest.fail("waits"))
        with pytest.raises(OctavoError, match=f"{server} does not answer as Kafka does: an answer of 1397966893 bytes"):
            commits.commit({ORDERS_0: 1}, {})
        greeting.result(SECONDS)


@pytest.mark.parametrize(
    ("api", "error"),
    [
        ("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"),
        ("OffsetCommit", "NOT_COORDINATOR"),
        ("OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS"),
    ],
)
def test_a_coordinator_that_moves_is_asked_for_again(api: str, error: str, caplog: pytest.LogCaptureFixture) -> None:
    pauses: list[float] = []
    with Kafka() as kafka:
        kafka.topic("orders")
        kafka.faults.fail(api, error, times=2)
        servers = addresses("commitServers", f"127.0.0.1:{free_ports(1)[0]}, {kafka.bootstrap_servers}")
        BrokerCommits("reports", servers, SECONDS, pauses.append).commit({ORDERS_0: 3}, {})
        assert kafka.groups()["reports"].offsets == {ORDERS_0: 3}
    assert len(pauses) == 2
    assert [error in warning for warning in caplog.messages if warning.startswith("commitGroup=reports")] == [True]


def test_a_broker_that_starts_late_is_waited_for(logs: Path) -> None:
    server = f"127.0.0.1:{free_ports(1)[0]}"
    with ExitStack() as started:

        def start(_: float) -> None:
            started.enter_context(octavo.Broker(logs, listen=server))

        BrokerCommits("reports", addresses("commitServers", server), SECONDS, start).commit({ORDERS_0: 8}, {})
    assert committed(logs) == {0: 8}


def test_what_a_broker_refuses_is_reported(logs: Path) -> None:
    with octavo.Broker(logs, read_only=True) as broker:
        commits = BrokerCommits("reports", addresses("commitServers", broker.bootstrap_servers), SECONDS)
        with pytest.raises(OctavoError, match=r"refused the offset of orders-0 .*POLICY_VIOLATION.*read-only"):
            commits.commit({ORDERS_0: 1}, {})
    with Kafka() as kafka:
        kafka.topic("orders")
        commits = BrokerCommits("reports", addresses("commitServers", kafka.bootstrap_servers), SECONDS)
        for api, error, sentence in (
            ("FindCoordinator", "GROUP_AUTHORIZATION_FAILED", "allow User:ANONYMOUS to read the group"),
            ("OffsetCommit", "TOPIC_AUTHORIZATION_FAILED", "allow User:ANONYMOUS to read the topic"),
            ("OffsetCommit", "INVALID_FETCH_SIZE", r"\(error 4\): see the log of the broker, or leave commitGroup out"),
        ):
            kafka.faults.fail(api, error)
            with pytest.raises(OctavoError, match=f"broker {kafka.bootstrap_servers} .* group 'reports' .*{sentence}"):
                commits.commit({ORDERS_0: 1}, {})


def test_wrong_addresses_are_refused(logs: Path) -> None:
    for servers in ("", " , ", "localhost", "localhost:", "localhost:0", "localhost:65536", "a:1;b:2", "::1:9092"):
        with pytest.raises(ConfigError, match="commitServers: expected host:port"):
            reader(logs, commitServers=servers)
    with pytest.raises(ConfigError, match="commitServers is given without commitGroup"):
        StreamOptions.of({"commitServers": "localhost:9092"})
    assert addresses("commitServers", " a-b.c:1, [::1]:2 ") == (Address("a-b.c", 1), Address("::1", 2))


def test_a_query_commits_what_it_has_read(spark: SparkSession, logs: Path) -> None:
    stream = spark.readStream.format("octavo").options(**GROUP, maxOffsetsPerTrigger="30").load(str(logs))
    run(stream.writeStream.format("memory").queryName("grouped"))
    assert spark.table("grouped").count() == 90
    assert committed(logs) == {0: 45, 1: 45}
