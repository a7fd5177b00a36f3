"""Random plays of group and transaction events on a real Kafka 4.3.1 and on ours: the same answers, except for ids and
times. A play that fails is shrunk to a short one."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import octavo
from octavo.broker.broker import Broker
from octavo.config.table import BROKER_CONFIGS, SYNONYMS
from octavo.format.protocol import apis
from tests.broker.plays import classic, consumer, transactions
from tests.broker.stage import Ask, Stage
from tests.broker.transactional_twin import wait_for_coordinator
from tests.broker.twin import Twin
from tests.interop.broker import PROPERTIES
from tests.interop.broker import Broker as KafkaBroker

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("broker")]

PLAYS = int(os.environ.get("OCTAVO_PLAYS", "12"))
TOPICS = {"t": 3, "six": 6}
Addresses = tuple[tuple[str, int], tuple[str, int]]

_numbers = itertools.count()
_settings = settings(max_examples=PLAYS, suppress_health_check=list(HealthCheck), report_multiple_bugs=False)


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    folder = tmp_path_factory.mktemp("plays")
    wanted = {**PROPERTIES, "group.consumer.assignment.interval.ms": "0"}
    real = KafkaBroker(folder / "kafka", wanted)
    real.start()
    configs = {name: value for name, value in wanted.items() if name in {**BROKER_CONFIGS, **SYNONYMS}}
    with octavo.LogDir(folder / "ours", configs=configs, create=True) as logs, Broker(logs) as ours:
        addresses = ("localhost", real.port), ours.address
        both = Twin(*addresses)
        for topic, partitions in TOPICS.items():
            row = {"name": topic, "numPartitions": partitions, "replicationFactor": 1}
            both.ask(apis.CREATE_TOPICS, 4, {"topics": [row], "timeoutMs": 10_000})
        both.learn_ids(TOPICS)
        both.wait_for_producer_ids()
        both.wait_for_coordinator()
        wait_for_coordinator(addresses[0])
        both.ask(apis.FIND_COORDINATOR, 4, {"coordinatorKeys": ["g"]})  # which creates the topic, here at once
        yield addresses
    real.kill()


def _play(brokers: Addresses, events: list[Ask], show: Any) -> None:
    """Play on a group and with transactional ids that no other play uses."""
    number = next(_numbers)
    with Stage(*brokers, show, group=f"g{number}", transactional_id=f"x{number}") as stage:
        for event in events:
            stage.play(event)


@_settings
@given(st.lists(classic.events(), min_size=3, max_size=14))
def test_classic_groups(brokers: Addresses, events: list[Ask]) -> None:
    _play(brokers, events, classic.shown)


@_settings
@given(st.lists(consumer.events(), min_size=3, max_size=14))
def test_consumer_groups(brokers: Addresses, events: list[Ask]) -> None:
    _play(brokers, [consumer.learn_topics(), *events], consumer.shown)


@_settings
@given(st.lists(transactions.events(), min_size=3, max_size=14))
def test_transactions(brokers: Addresses, events: list[Ask]) -> None:
    _play(brokers, [part for event in events for part in (event, transactions.settled())], transactions.shown)
