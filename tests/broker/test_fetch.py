"""Fetch across several requests: long polls, sessions, limits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from threading import Timer

import pytest

import octavo
from octavo.broker.broker import Broker
from octavo.broker.sessions import FetchSessions
from octavo.format.batches.walker import walk
from octavo.format.messages.schema import Row
from octavo.format.protocol.apis import FETCH
from octavo.format.protocol.error_codes import ErrorCode
from octavo.system.clock import ManualClock
from tests.broker.raw import RawClient
from tests.broker.requests import fetching

VERSION = 12  # the last version with topic names; later ones have ids


@pytest.fixture
def topic(logs: octavo.LogDir) -> Iterator[octavo.LogDir]:
    logs.create_topic("t", 3)
    yield logs


def send(logs: octavo.LogDir, partition: int, value: bytes) -> None:
    with logs.producer() as producer:
        producer.send("t", value, partition=partition).result(10)


wanted = partial(fetching, "t")


def ask(client: RawClient, body: Row) -> Row:
    answer = client.ask(FETCH, VERSION, body)
    assert answer is not None
    return answer


def served(answer: Row) -> dict[int, int]:
    """The partitions of an answer, and how many batches each has."""
    rows = [row for found in answer["responses"] for row in found["partitions"]]
    return {row["partitionIndex"]: len(walk(bytes(row["records"])).table) for row in rows}


def test_a_long_poll_ends_with_an_append(client: RawClient, topic: octavo.LogDir) -> None:
    timer = Timer(0.2, send, (topic, 1, b"late"))
    timer.start()
    begun = time.monotonic()
    assert served(ask(client, wanted(0, 1, maxWaitMs=30_000))) == {0: 0, 1: 1}
    assert time.monotonic() - begun < 20
    timer.join()


def test_a_long_poll_ends_with_its_time(client: RawClient, topic: octavo.LogDir) -> None:
    begun = time.monotonic()
    assert served(ask(client, wanted(0, maxWaitMs=300))) == {0: 0}
    assert time.monotonic() - begun >= 0.3


def test_a_long_poll_ends_with_its_topic(client: RawClient, topic: octavo.LogDir) -> None:
    timer = Timer(0.2, topic.delete_topic, ("t",))
    timer.start()
    (found,) = ask(client, wanted(0, maxWaitMs=30_000))["responses"]
    assert found["partitions"][0]["errorCode"] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    timer.join()


def test_a_long_poll_waits_for_enough(client: RawClient, topic: octavo.LogDir) -> None:
    send(topic, 0, b"a little")
    timer = Timer(0.2, send, (topic, 0, b"x" * 2000))
    timer.start()
    assert served(ask(client, wanted(0, maxWaitMs=30_000, minBytes=1000))) == {0: 2}
    timer.join()


def test_a_client_that_goes_away_while_it_waits_leaves_nothing(broker: Broker, topic: octavo.LogDir) -> None:
    log, end = topic.log("t", 0), time.monotonic() + 10
    with RawClient(broker.address) as gone:
        gone.send(FETCH, VERSION, wanted(0, maxWaitMs=30_000))
        while not log._watchers:  # the broker has not got the request yet
            assert time.monotonic() < end
            time.sleep(0.01)
    while log._watchers or broker._server._limits.connections:
        assert time.monotonic() < end, "the broker still waits for it"
        send(topic, 0, b"wakes it")
        time.sleep(0.05)


def test_a_session_names_only_what_changed(client: RawClient, topic: octavo.LogDir) -> None:
    send(topic, 0, b"first")
    whole = ask(client, wanted(0, 1, 2, sessionEpoch=0))
    session = whole["sessionId"]
    assert session > 0
    assert served(whole) == {0: 1, 1: 0, 2: 0}
    assert served(ask(client, wanted(0, offset=1, sessionId=session, sessionEpoch=1))) == {}
    send(topic, 2, b"second")
    assert served(ask(client, wanted(sessionId=session, sessionEpoch=2))) == {2: 1}
    forgotten = [{"topic": "t", "partitions": [0, 1]}]
    body = wanted(sessionId=session, sessionEpoch=3, forgottenTopicsData=forgotten)
    assert served(ask(client, body)) == {2: 1}
    assert ask(client, wanted(sessionId=session, sessionEpoch=3))["errorCode"] == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert served(ask(client, wanted(0, sessionId=session, sessionEpoch=-1))) == {0: 1}
    assert ask(client, wanted(sessionId=session, sessionEpoch=4))["errorCode"] == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_partitions_of_a_session_take_turns(client: RawClient, topic: octavo.LogDir) -> None:
    for partition in range(3):
        send(topic, partition, b"x" * 500)
    session = ask(client, wanted(0, 1, 2, sessionEpoch=0, maxBytes=1))["sessionId"]
    firsts = [
        next(iter(served(ask(client, wanted(sessionId=session, sessionEpoch=epoch, maxBytes=1)))))
        for epoch in range(1, 4)
    ]
    assert sorted(firsts) == [0, 1, 2]


def test_a_full_cache_of_sessions_lets_old_ones_go() -> None:
    clock = ManualClock(0)
    sessions = FetchSessions(clock, slots=1)
    body = {**wanted(0), "sessionId": 0, "sessionEpoch": 0, "forgottenTopicsData": []}
    for row in body["topics"][0]["partitions"]:
        row.update(currentLeaderEpoch=-1, lastFetchedEpoch=-1)
    first = sessions.begin(body, VERSION)
    assert first.session_id > 0
    assert sessions.begin(body, VERSION).session_id == 0
    clock.advance(120_001)
    assert sessions.begin(body, VERSION).session_id not in (0, first.session_id)
    assert sessions.find(first.session_id) is None


def test_the_first_batch_comes_whole_and_no_other_beyond_the_limit(client: RawClient, topic: octavo.LogDir) -> None:
    for partition in range(3):
        send(topic, partition, b"x" * 500)
    assert served(ask(client, wanted(0, 1, 2, maxBytes=1))) == {0: 1, 1: 0, 2: 0}
