"""`LogDir.serve`: one program has the directory, its own clients and a broker at the same time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

import octavo
from octavo.format.protocol.apis import METADATA
from tests.broker.raw import RawClient

_SECONDS = 20.0


def test_clients_in_process_and_over_the_network_share_a_log(tmp_path: Path) -> None:
    with octavo.LogDir(tmp_path / "new") as logs, logs.serve() as broker, logs.producer() as producer:
        logs.create_topic("t", 1)
        remote = Producer({"bootstrap.servers": broker.bootstrap_servers})
        remote.produce("t", b"remote")
        assert remote.flush(_SECONDS) == 0
        producer.send("t", b"local").result()
        assert [record.value for record in logs.consumer("t")] == [b"remote", b"local"]
        reader = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g"})
        reader.assign([TopicPartition("t", 0, 0)])
        assert [message.value() for message in reader.consume(2, _SECONDS)] == [b"remote", b"local"]
        reader.close()
        assert set(logs.topics) == {"t", "__consumer_offsets"}  # a consumer with a group looks for its coordinator


def test_async_with(tmp_path: Path) -> None:
    async def main() -> str:
        with octavo.LogDir(tmp_path / "logs") as logs:
            async with logs.serve() as broker:
                return repr(broker)

    assert asyncio.run(main()).startswith(f"<Broker of {tmp_path / 'logs'}: listening on 127.0.0.1:")


def test_closing_the_log_dir_closes_its_brokers_first(tmp_path: Path) -> None:
    logs = octavo.LogDir(tmp_path / "logs")
    broker = logs.serve()
    logs.close()
    assert repr(broker) == f"<Broker of {tmp_path / 'logs'}: closed>"
    broker.close()
    with octavo.Broker(tmp_path / "logs") as again:
        assert again.logs.topics == {}


def test_an_address_and_options_reach_the_broker(tmp_path: Path) -> None:
    with octavo.LogDir(tmp_path / "logs") as logs:
        with pytest.raises((ValueError, octavo.OctavoError), match="allow_remote"):
            logs.serve("0.0.0.0:0")
        with (
            logs.serve("0.0.0.0:0", allow_remote=True, advertise="elsewhere:9092") as broker,
            RawClient(broker.address) as client,
        ):
            answer = client.ask(METADATA, 12, {"topics": []})
    assert broker.address.host == "0.0.0.0"
    assert answer is not None
    assert [(row["host"], row["port"]) for row in answer["brokers"]] == [("elsewhere", 9092)]


@pytest.mark.parametrize("given", [{"configs": {"log.retention.ms": 1}}, {"upkeep": False}])
def test_what_only_a_log_dir_can_apply_is_refused(tmp_path: Path, given: dict[str, Any]) -> None:
    with octavo.LogDir(tmp_path / "logs") as logs:
        with pytest.raises(octavo.ConfigError, match=f"{min(given)} cannot be given .* give it to the LogDir when"):
            logs.serve(**given)
        with pytest.raises(octavo.ConfigError, match="give it to the LogDir when"):
            octavo.Broker(logs, **given)
