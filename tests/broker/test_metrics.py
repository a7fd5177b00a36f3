"""What Prometheus reads from the broker."""

from __future__ import annotations

import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from octavo.broker.broker import Broker
from octavo.format.protocol.apis import METADATA, PRODUCE
from tests.broker.raw import RawClient
from tests.broker.requests import batch, produced


def test_requests_connections_and_logs_are_counted(tmp_path: Path) -> None:
    with Broker(tmp_path / "logs", metrics="127.0.0.1:0") as broker, RawClient(broker.address) as client:
        broker.logs.create_topic("t", 1)
        for _ in range(3):
            client.ask(PRODUCE, 9, produced("t", 0, batch("x")))
        client.ask(METADATA, 12, {"topics": None})
        url = f"http://{broker.metrics_address}/metrics"
        text = urllib.request.urlopen(url).read().decode()
    found = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert found["octavo_requests_total", "Produce"] == 3
    assert found["octavo_requests_total", "Metadata"] == 1
    assert found["octavo_request_seconds_total", "Produce"] > 0
    assert found["octavo_received_bytes_total",] > 3 * len(batch("x"))
    assert found["octavo_connections",] == 1
    assert found["octavo_log_end_offset", "0", "t"] == 3
    assert found["octavo_log_size_bytes", "0", "t"] == 3 * len(batch("x"))
    assert found["octavo_offline_directories",] == 0


def test_metrics_for_other_machines_need_to_be_allowed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"the metrics on 0\.0\.0\.0:0 .* allow_remote"):
        Broker(tmp_path / "logs", metrics="0.0.0.0:0")
    assert not (tmp_path / "logs").exists()
