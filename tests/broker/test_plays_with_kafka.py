"""Random sequences of group and transaction requests ("plays") to a real Kafka 4.3.1 and to ours: the same answers,
except for ids, times, hosts, offsets in logs and the wording of errors. A play that fails is shrunk to a short one."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from octavo.format.protocol import apis
from tests.broker.plays import classic, consumer, transactions
from tests.broker.raw import RawClient
from tests.broker.stage import Ask, Stage
from tests.broker.transactional_twin import take_first_producer_ids
from tests.broker.twin import Twin, topic_ids

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("broker")]

PLAYS = int(os.environ.get("OCTAVO_PLAYS", "12"))
TOPICS = {"t": 3, "six": 6}
Addresses = tuple[tuple[str, int], tuple[str, int]]

_numbers = itertools.count()
_settings = settings(max_examples=PLAYS, suppress_health_check=list(HealthCheck), report_multiple_bugs=False)


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    folder = tmp_path_factory.mktemp("plays")
    with Twin.started(folder, {}, {"group.consumer.assignment.interval.ms": "0"}) as both:
        for topic, topic_id in _created(both.real).items():
            both.logs.create_topic(topic, TOPICS[topic], topic_id=topic_id)
        both.learn_ids(TOPICS)
        both.wait_for_coordinators()
        take_first_producer_ids(both.real)
        yield both.addresses


def _created(real: tuple[str, int]) -> dict[str, bytes]:
    """Create the topics on Kafka. Ours get the same ids, since the order of ids decides who gets which partitions."""
    with RawClient(real) as client:
        rows = [{"name": topic, "numPartitions": count, "replicationFactor": 1} for topic, count in TOPICS.items()]
        client.ask(apis.CREATE_TOPICS, 4, {"topics": rows, "timeoutMs": 10_000})
        return {topic: topic_id for topic, topic_id in topic_ids(client, TOPICS).items() if topic in TOPICS}


def _play(brokers: Addresses, events: list[Ask], show: Any) -> None:
    """Play with a group and a transactional id that no other play uses."""
    number = next(number for number in _numbers if consumer.are_apart(f"g{number}"))
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
