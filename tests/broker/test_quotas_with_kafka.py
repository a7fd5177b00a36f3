"""Quotas of clients: the same requests to a real Kafka 4.3.1 and to ours, and the same waiting times."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import octavo
from octavo.broker.quotas.store import QuotaStore
from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from tests.broker.raw import RawClient
from tests.broker.requests import TIME_MS, batch, fetching, produced
from tests.broker.twin import Twin
from tests.interop.broker import Broker as KafkaBroker

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("broker")]

EXACT, DEFAULT, SPECIFIED = range(3)
RATE = "producer_byte_rate"


class QuotaTwin(Twin):
    unordered = Twin.unordered | {"entries", "entity", "values"}


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuotaTwin]:
    with QuotaTwin.started(tmp_path_factory.mktemp("quotas"), {"t": 1}) as both:
        yield both


def entry(entity: dict[str, str | None], *operations: tuple[str, float | None]) -> Row:
    ops = [{"key": key, "value": value or 0.0, "remove": value is None} for key, value in operations]
    return {"entity": [{"entityType": kind, "entityName": name} for kind, name in entity.items()], "ops": ops}


def alter(twin: Twin, *entries: Row, dry_run: bool = False) -> None:
    for version in apis.ALTER_CLIENT_QUOTAS.versions if dry_run else (1,):
        twin.ask(apis.ALTER_CLIENT_QUOTAS, version, {"entries": list(entries), "validateOnly": dry_run})


def describe(twin: Twin, *components: tuple[str, int, str | None], strict: bool = False) -> None:
    rows = [{"entityType": kind, "matchType": match_type, "match": match} for kind, match_type, match in components]
    for version in apis.DESCRIBE_CLIENT_QUOTAS.versions:
        twin.ask(apis.DESCRIBE_CLIENT_QUOTAS, version, {"components": rows, "strict": strict})


def settle(twin: Twin) -> None:
    """Wait for the real broker, which learns of quotas from its metadata log."""
    twin.eventually(apis.DESCRIBE_CLIENT_QUOTAS, 1, {"components": [], "strict": False})


def test_what_can_be_set(twin: Twin) -> None:
    alice: dict[str, str | None] = {"user": "alice"}
    for entity in ({}, {"user": ""}, {"group": "g"}, {"ip": "127.0.0.1"}, {"ip": None}, {"ip": "no.such.host.invalid"},
                   {"ip": "127.0.0.1", "user": "alice"}, {"user": None}, {"user": None, "client-id": "c"}):  # fmt: skip
        for key in (RATE, "connection_creation_rate", "no_such"):
            alter(twin, entry(dict(entity), (key, 1000.0)), dry_run=True)
    for key, value in (
        *((RATE, value) for value in (0.0, -1.0, 0.5, 1000.5, 1e18, 1e19, None)),
        *(("request_percentage", 0.5), ("request_percentage", 1e300), ("controller_mutation_rate", 0.1)),
        *(("no_such", None), ("connection_creation_rate", None)),
    ):
        alter(twin, entry(alice, (key, value)), dry_run=True)
    alter(twin, entry({"ip": "127.0.0.1"}, ("connection_creation_rate", 3e9)), dry_run=True)
    alter(twin, entry(alice, (RATE, 1.0), (RATE, 2.0)), dry_run=True)
    alter(twin, entry(alice, (RATE, 1.0)), entry(alice, (RATE, 2.0)), dry_run=True)
    alter(twin, entry(alice, (RATE, 1.0)), entry({"user": "bob"}, (RATE, -2.0)), dry_run=True)
    alter(twin, dry_run=True)


def test_what_is_set_can_be_found(twin: Twin) -> None:
    pairs = [("alice", "c"), ("alice", None), (None, "c")]
    entities: list[dict[str, str | None]] = [{"user": user, "client-id": client_id} for user, client_id in pairs]
    entities += [{kind: name} for kind in ("user", "client-id") for name in ("alice", "c", None)]
    entities.append({"ip": "127.0.0.1"})

    def key(entity: dict[str, str | None]) -> str:
        return "connection_creation_rate" if "ip" in entity else RATE

    alter(twin, *(entry(entity, (key(entity), 10.0 + number)) for number, entity in enumerate(entities)))
    settle(twin)
    for user in ((), (("user", EXACT, "alice"),), (("user", EXACT, "bob"),), (("user", DEFAULT, None),),
                 (("user", SPECIFIED, None),)):  # fmt: skip
        for client in ((), (("client-id", EXACT, "c"),), (("client-id", DEFAULT, None),),
                       (("client-id", SPECIFIED, None),), (("ip", SPECIFIED, None),)):  # fmt: skip
            for strict in (False, True):
                describe(twin, *user, *client, strict=strict)
    for wrong in ((("", EXACT, "x"),), (("group", EXACT, "x"),), (("user", 7, None),), (("user", EXACT, None),),
                  (("user", DEFAULT, "x"),), (("user", SPECIFIED, "x"),), (("user", EXACT, "x"),) * 2):  # fmt: skip
        describe(twin, *wrong)
    alter(twin, entry({"user": "alice"}, (RATE, 99.0), ("consumer_byte_rate", 5.0)))
    settle(twin)
    alter(twin, *(entry(entity, (key(entity), None), ("consumer_byte_rate", None)) for entity in entities))
    settle(twin)


def throttled(twin: Twin, client_id: str, *requests: tuple[apis.Api, int, Row]) -> list[tuple[int, int]]:
    """How long each broker tells this client to wait, request by request: the real one and ours."""
    waits: list[list[int]] = []
    for address in (twin.real, twin.ours):
        waits.append([])
        for api, version, body in requests:
            with RawClient(address, client_id=client_id) as client:
                waits[-1].append((client.ask(api, version, body) or {})["throttleTimeMs"])
    return list(zip(*waits, strict=True))


def test_a_producer_over_its_quota_waits(twin: Twin) -> None:
    alter(twin, entry({"client-id": "p"}, (RATE, 1000.0)), entry({"client-id": None}, (RATE, 1e9)))
    settle(twin)
    time.sleep(1)
    small, large = (produced("t", 0, batch("x" * size, TIME_MS)) for size in (100, 20_000))
    (first, second) = throttled(twin, "p", (apis.PRODUCE, 9, small), (apis.PRODUCE, 9, large))
    assert first == (0, 0)
    assert second[0] > 10_000
    assert abs(second[0] - second[1]) < 300
    assert throttled(twin, "other", (apis.PRODUCE, 9, large)) == [(0, 0)]


def test_a_consumer_over_its_quota_gets_nothing_and_waits(twin: Twin) -> None:
    alter(twin, entry({"user": "ANONYMOUS", "client-id": "c"}, ("consumer_byte_rate", 500.0)))
    settle(twin)
    time.sleep(1)
    for number in range(6):
        twin.ask(apis.PRODUCE, 9, produced("t", 0, batch("y" * 4000, TIME_MS + number)))
    body = fetching("t", 0, offset=2)
    (waits,) = throttled(twin, "c", (apis.FETCH, 11, body))
    assert waits[0] > 10_000
    assert abs(waits[0] - waits[1]) <= 10
    with RawClient(twin.ours, client_id="c") as client:
        answer: Row = client.ask(apis.FETCH, 11, body) or {}
        assert (answer["responses"], answer["errorCode"]) == ([], 0)


def test_a_directory_that_kafka_served_keeps_its_quotas(tmp_path: Path) -> None:
    real = KafkaBroker(tmp_path)
    real.start()
    with RawClient(("localhost", real.port)) as client:
        entries = [entry({"user": "alice"}, (RATE, 5.0)), entry({"user": "bob"}, (RATE, 6.0))]
        client.ask(apis.ALTER_CLIENT_QUOTAS, 1, {"entries": entries})
        client.ask(apis.ALTER_CLIENT_QUOTAS, 1, {"entries": [entry({"user": "bob"}, (RATE, None))]})
    real.stop()
    with octavo.LogDir(real.log_dir) as logs:
        taken_over = QuotaStore(logs)
        assert taken_over.values == {(("user", "alice"),): {RATE: 5.0}}
        taken_over.change(lambda _: {})
        assert QuotaStore(logs).values == {}
