"""Broker configs that are changed while the broker runs: the same requests to a real Kafka 4.3.1 and to ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import octavo
from octavo.config.dynamic import DYNAMIC
from octavo.config.table import BROKER_CONFIGS, SYNONYMS
from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from tests.broker.altering import ConfigResources
from tests.broker.raw import RawClient
from tests.broker.requests import TIME_MS, batch, produced
from tests.broker.twin import Twin
from tests.interop.broker import Broker as KafkaBroker
from tests.other_defaults import OTHER_DEFAULTS

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("broker")]

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)
alter, replace = ConfigResources(BROKER).alter, ConfigResources(BROKER).replace
KNOWN = {**BROKER_CONFIGS, **SYNONYMS}
OF_THE_MACHINE = {"listeners", "log.dirs", "log.dir", "advertised.listeners", "listener.security.protocol.map"}


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    with Twin.started(tmp_path_factory.mktemp("configs"), {"t": 1}) as both:
        yield both


def describe(twin: Twin, *, with_synonyms: bool = True) -> None:
    """Compare what all resources show, once the real broker has learned of the last change."""
    shared = sorted(set(KNOWN) - OF_THE_MACHINE - OTHER_DEFAULTS | {"no.such"})
    for kind, name, keys in ((BROKER, "1", shared), (BROKER, "", None), (TOPIC, "t", None)):
        resource = {"resourceType": kind, "resourceName": name, "configurationKeys": keys}
        twin.eventually(apis.DESCRIBE_CONFIGS, 4, {"resources": [resource], "includeSynonyms": with_synonyms})


@pytest.mark.parametrize("broker", ["1", "", "7", "x"])
def test_what_can_be_changed(twin: Twin, broker: str) -> None:
    for name, operation, value in (
        *(("log.cleaner.backoff.ms", operation, "15000") for operation in (SET, DELETE, APPEND, SUBTRACT, 7)),
        *(("log.cleaner.backoff.ms", SET, value) for value in ("soon", "-1", None, " 5 ")),
        *(("num.partitions", SET, "3"), ("num.partitions", DELETE, None), ("num.partitions", SET, "x")),
        *(("no.such", SET, "3"), ("no.such", DELETE, None), ("no.such", APPEND, "3")),
        *(("log.cleanup.policy", operation, "compact") for operation in (SET, APPEND, SUBTRACT)),
        *(("log.cleanup.policy", operation, "x") for operation in (SET, APPEND)),
        *(("log.retention.ms", SET, value) for value in ("0", "-2", "1000")),
        *(("log.retention.hours", SET, "3"), ("log.roll.hours", SET, "3"), ("retention.ms", SET, "5")),
        *(("message.max.bytes", SET, "100"), ("compression.type", SET, "x")),
        *(("min.insync.replicas", operation, value) for operation, value in ((SET, "2"), (DELETE, None), (SET, "0"))),
        *(("log.cleaner.threads", SET, value) for value in ("2", "10", "0")),
        *(("ssl.keystore.location", SET, "/x"), ("listeners", SET, "PLAINTEXT://:1")),
        *(("max.connections", SET, "-3"), ("log.cleaner.dedupe.buffer.size", SET, "100")),
        *(("cordoned.log.dirs", SET, "/x"), ("cordoned.log.dirs", SET, "*")),
    ):
        alter(twin, broker, (name, operation, value), dry_run=True)
    alter(twin, broker, dry_run=True)
    alter(twin, broker, ("log.retention.ms", SET, "1"), ("log.retention.ms", SET, "2"), dry_run=True)
    alter(twin, broker, ("log.retention.ms", SET, "1"), ("num.partitions", SET, "2"), dry_run=True)
    for name, value in (("log.cleaner.backoff.ms", "1"), ("log.cleaner.backoff.ms", None), ("num.partitions", "3")):
        replace(twin, broker, {name: value}, dry_run=True)
    replace(twin, broker, {}, dry_run=True)


def test_where_each_value_comes_from(twin: Twin) -> None:
    describe(twin)
    alter(twin, "", ("log.retention.ms", SET, "100000"), ("log.segment.bytes", SET, "2000000"))
    describe(twin)
    alter(twin, "1", ("log.retention.ms", SET, " 200000 "), ("log.cleaner.backoff.ms", SET, "300"))
    describe(twin)
    describe(twin, with_synonyms=False)
    alter(twin, "1", ("log.retention.ms", DELETE, None), ("no.such", SET, "secret"))
    describe(twin)
    alter(twin, "", ("log.cleanup.policy", APPEND, "compact"), ("min.insync.replicas", SET, "2"))
    describe(twin)
    alter(twin, "", ("log.cleanup.policy", SUBTRACT, "delete"), ("min.insync.replicas", SET, "1"))
    describe(twin)
    replace(twin, "1", {"message.max.bytes": "5000"})
    describe(twin)
    replace(twin, "", {"min.insync.replicas": "1"})
    replace(twin, "1", {})
    describe(twin)


def test_a_change_is_in_force_at_once(twin: Twin) -> None:
    alter(twin, "1", ("message.max.bytes", SET, "100"))
    describe(twin)
    twin.ask(apis.PRODUCE, 9, produced("t", 0, batch("x" * 200, TIME_MS)))
    alter(twin, "1", ("message.max.bytes", DELETE, None))
    describe(twin)
    twin.ask(apis.PRODUCE, 9, produced("t", 0, batch("x" * 200, TIME_MS)))


def test_which_are_dynamic(twin: Twin) -> None:
    with RawClient(twin.real) as client:
        asked = {"resourceType": BROKER, "resourceName": "1", "configurationKeys": sorted(KNOWN)}
        answer: Row = client.ask(apis.DESCRIBE_CONFIGS, 4, {"resources": [asked]}) or {}
    rows = answer["results"][0]["configs"]
    assert {row["name"] for row in rows if not row["readOnly"]} == DYNAMIC


def test_a_directory_that_kafka_served_keeps_its_configs(tmp_path: Path) -> None:
    real = KafkaBroker(tmp_path)
    real.start()
    changes = [
        ("", "log.retention.ms", "7000"),
        ("", "log.segment.bytes", "2000000"),
        ("1", "log.retention.ms", "8000"),
    ]
    with RawClient(("localhost", real.port)) as client:
        for broker, name, value in changes:
            resource = {"resourceType": BROKER, "resourceName": broker,
                        "configs": [{"name": name, "configOperation": SET, "value": value}]}  # fmt: skip
            client.ask(apis.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [resource]})
    real.stop()
    with octavo.LogDir(real.log_dir) as logs:
        sources = logs.broker_sources
        assert (sources.of_broker, sources.of_cluster["log.segment.bytes"]) == ({"log.retention.ms": "8000"}, "2000000")
        logs.alter_broker_configs({"log.retention.ms": None})
        logs.alter_broker_configs({"log.segment.bytes": "3000000"}, of_cluster=True)
    with octavo.LogDir(real.log_dir) as logs:
        logs.create_topic("t")
        assert (logs.config("t").retention_ms, logs.config("t").segment_bytes) == (7000, 3000000)
