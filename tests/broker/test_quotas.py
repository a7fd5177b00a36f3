"""Clients over their quota wait; the others do not."""

from __future__ import annotations

import gc
import math
import time
from pathlib import Path

import pytest

import octavo
from octavo.broker.broker import Broker
from octavo.broker.network.connection import Connection
from octavo.broker.quotas.entities import Quotas, entity_of
from octavo.broker.quotas.limiter import QuotaLimiter, Windows
from octavo.broker.quotas.rate import Rate
from octavo.broker.quotas.store import QuotaStore
from octavo.broker.request import Request
from octavo.broker.security.listeners import Endpoint
from octavo.broker.security.peer import Peer
from octavo.broker.security.principals import Client, user
from octavo.errors import CorruptionError
from octavo.format.messages.schema import Row
from octavo.format.names import QUOTA_STORE
from octavo.format.protocol import apis
from octavo.format.protocol.error_codes import ErrorCode
from octavo.system.clock import ManualClock, ShiftedClock
from octavo.testing.broker import InstrumentedBroker
from tests.broker.raw import RawClient
from tests.broker.requests import TIME_MS, batch, fetching, produced

RATE = "producer_byte_rate"


def entry(key: str, value: float, **names: str | None) -> Row:
    entity = [{"entityType": kind.replace("_", "-"), "entityName": name} for kind, name in names.items()]
    return {"entity": entity, "ops": [{"key": key, "value": value, "remove": False}]}


def set_quota(broker: Broker, row: Row) -> None:
    with RawClient(broker.address) as client:
        answer: Row = client.ask(apis.ALTER_CLIENT_QUOTAS, 1, {"entries": [row]}) or {}
    assert answer["entries"][0]["errorCode"] == 0, answer


def test_the_connection_of_a_producer_over_its_quota_is_muted(tmp_path: Path) -> None:
    with octavo.LogDir(tmp_path / "logs", create=True) as logs, Broker(logs) as broker:
        logs.create_topic("t")
        set_quota(broker, entry(RATE, 10_000, client_id="slow"))
        body = produced("t", 0, batch("x" * 105_000, TIME_MS))
        with RawClient(broker.address, client_id="slow") as slow, RawClient(broker.address, client_id="fast") as fast:
            answer: Row = slow.ask(apis.PRODUCE, 9, body) or {}
            began = time.monotonic()
            assert 400 < answer["throttleTimeMs"] < 700
            assert (fast.ask(apis.PRODUCE, 9, body) or {})["throttleTimeMs"] == 0
            assert time.monotonic() - began < 0.4
            slow.ask(apis.METADATA, 9, {"topics": []})
            assert time.monotonic() - began > 0.4


def test_a_producer_without_answers_is_muted_too(tmp_path: Path) -> None:
    with octavo.LogDir(tmp_path / "logs", create=True) as logs, Broker(logs) as broker:
        logs.create_topic("t")
        set_quota(broker, entry(RATE, 10_000, client_id=None))
        with RawClient(broker.address) as client:
            began = time.monotonic()
            client.send(apis.PRODUCE, 9, produced("t", 0, batch("x" * 105_000, TIME_MS), acks=0))
            client.ask(apis.METADATA, 9, {"topics": []})
            assert time.monotonic() - began > 0.4


def test_a_muted_connection_that_is_closed_is_forgotten(tmp_path: Path) -> None:
    def connections() -> list[object]:
        gc.collect()
        return [found for found in gc.get_objects() if isinstance(found, Connection)]

    clock = ShiftedClock()
    with (
        octavo.LogDir(tmp_path / "logs", create=True) as logs,
        InstrumentedBroker(logs, clock, listen="127.0.0.1:0") as broker,
    ):
        logs.create_topic("t")
        set_quota(broker, entry(RATE, 1, client_id=None))
        with RawClient(broker.address) as client:
            answer: Row = client.ask(apis.PRODUCE, 9, produced("t", 0, batch("x" * 105_000, TIME_MS))) or {}
            assert answer["throttleTimeMs"] > 10_000_000
            assert connections()
            broker.disconnect()
            end = time.monotonic() + 10
            while connections():
                assert time.monotonic() < end


def test_a_fetch_that_is_throttled_by_request_percentage_returns_nothing(tmp_path: Path) -> None:
    with octavo.LogDir(tmp_path / "logs", create=True) as logs, Broker(logs) as broker:
        logs.create_topic("t")
        body = fetching("t", 0, sessionEpoch=0)
        with RawClient(broker.address, client_id="slow") as slow, RawClient(broker.address) as other:
            other.ask(apis.PRODUCE, 9, produced("t", 0, batch("x", TIME_MS)))
            set_quota(broker, entry("request_percentage", 1e-9, client_id="slow"))
            answer: Row = slow.ask(apis.FETCH, 11, body) or {}
            assert (answer["throttleTimeMs"], answer["responses"], answer["sessionId"]) == (1000, [], 0)
            answer = other.ask(apis.FETCH, 11, body) or {}
            assert answer["throttleTimeMs"] == 0
            assert answer["responses"]
            assert answer["sessionId"] > 0


def test_a_fetch_that_is_throttled_leaves_its_slot_to_another_session(tmp_path: Path) -> None:
    configs = {"max.incremental.fetch.session.cache.slots": 1}
    with octavo.LogDir(tmp_path / "logs", configs=configs, create=True) as logs, Broker(logs) as broker:
        logs.create_topic("t")
        body = fetching("t", 0, sessionEpoch=0)
        with RawClient(broker.address, client_id="slow") as slow, RawClient(broker.address) as other:
            set_quota(broker, entry("request_percentage", 1e-9, client_id="slow"))
            answer: Row = slow.ask(apis.FETCH, 11, body) or {}
            assert answer["throttleTimeMs"] == 1000
            answer = other.ask(apis.FETCH, 11, body) or {}
            assert answer["sessionId"] > 0


def test_quotas_are_kept(tmp_path: Path) -> None:
    with Broker(tmp_path / "logs") as broker:
        set_quota(broker, entry(RATE, 5, user="alice", client_id=None))
    with octavo.LogDir(tmp_path / "logs") as logs:
        assert QuotaStore(logs).values == {(("client-id", None), ("user", "alice")): {RATE: 5.0}}


@pytest.mark.parametrize("content", ["[]", '{"version":0,"revision":1,"quotas":[{"entity":{},"values":{"a":"x"}}]}'])
def test_a_damaged_file_is_refused(tmp_path: Path, content: str) -> None:
    with octavo.LogDir(tmp_path / "logs", create=True) as logs:
        (tmp_path / "logs" / QUOTA_STORE).write_text(content)
        with pytest.raises(CorruptionError, match=QUOTA_STORE):
            QuotaStore(logs)


def request_of(name: str, client_id: str) -> Request:
    return Request(9, client_id, {}, Peer(Client(user(name), "127.0.0.1"), Endpoint("localhost", 1), None))


def limiter_of(quotas: Quotas) -> QuotaLimiter:
    return QuotaLimiter(lambda: quotas, ManualClock(), Windows(11, 1))


def test_the_most_specific_quota_counts() -> None:
    levels = [("alice", "c"), ("alice", None), ("alice",), (None, "c"), (None, None), (None,)]
    entities = [entity_of(dict(zip(("user", "client-id"), names, strict=False))) for names in levels]
    entities += [entity_of({"client-id": "c"}), entity_of({"client-id": None})]
    quotas: Quotas = {entity: {RATE: number + 1.0} for number, entity in enumerate(entities)}
    while quotas:
        limiter = limiter_of(quotas)
        expected = min(values[RATE] for values in quotas.values())
        # 100 bytes at once, measured over 10 s
        assert limiter.produced(request_of("alice", "c"), 100) == round((10 - expected) / expected * 10_000)
        del quotas[next(iter(quotas))]
    assert limiter_of({}).produced(request_of("alice", "c"), 100) == 0


def test_all_clients_of_a_user_share_its_quota() -> None:
    limiter = limiter_of({entity_of({"user": "alice"}): {RATE: 10.0}})
    assert limiter.produced(request_of("alice", "one"), 60) == 0
    assert limiter.produced(request_of("bob", "one"), 600) == 0
    assert limiter.produced(request_of("alice", "two"), 60) == 2000


def test_the_rate_of_the_last_windows() -> None:
    rate = Rate(3, 1000)
    rate.add(300, 0)
    assert rate.throttle_ms(100, 0) == 1000  # 300 bytes count over at least two whole windows
    assert rate.throttle_ms(100, 1000) == 1000
    assert rate.throttle_ms(100, 2500) == 500  # 300 bytes over 2.5 s
    assert rate.throttle_ms(100, 3000) == 0  # the window no longer counts
    rate.add(100, 3000)
    assert rate.throttle_ms(100, 3000) == 0


def test_time_is_a_quota_too() -> None:
    limiter = limiter_of({entity_of({"user": None}): {"request_percentage": 1.0}})
    assert limiter.worked(request_of("alice", "c"), 0.05) == 0
    assert limiter.worked(request_of("alice", "c"), 5) == 1000


@pytest.mark.parametrize(("quota", "size"), [(1.0, 100 << 20), (5e-324, 1)])
def test_a_long_throttle_time_fits_into_the_response(quota: float, size: int) -> None:
    limiter = limiter_of({entity_of({"user": None}): {RATE: quota}})
    assert limiter.produced(request_of("alice", "c"), size) == 2**31 - 1


def test_a_quota_is_a_number(tmp_path: Path) -> None:
    with Broker(tmp_path / "logs") as broker, RawClient(broker.address) as client:
        body = {"entries": [entry("consumer_byte_rate", math.nan, user=None)]}
        answer: Row = client.ask(apis.ALTER_CLIENT_QUOTAS, 1, body) or {}
        assert answer["entries"][0]["errorCode"] == ErrorCode.INVALID_REQUEST


def test_what_is_not_sent_does_not_count() -> None:
    limiter = limiter_of({entity_of({"user": None}): {"consumer_byte_rate": 10.0}})
    request = request_of("alice", "c")
    assert limiter.fetched(request, 90, throttle_ms=1) == 1
    assert limiter.fetched(request, 90, throttle_ms=0) == 0
    assert limiter.fetched(request, 90, throttle_ms=0) > 0
    assert limiter.fetched(request, 10, throttle_ms=0) == 0
