"""kill -9 of a broker under a chain of groups and transactions. The anomalies are those that Jepsen's tests of Kafka
look for: lost and duplicated records, aborted reads, polls and offsets that go back, two records at one offset, a stuck
group."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import octavo
from tests.broker.chain import ABORTED, PARTITIONS, Chain, Seen
from tests.broker.served import Served

KILLS = int(os.environ.get("OCTAVO_KILLS", "4"))
_SECONDS = 240.0


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_chain_survives_kills_without_anomalies(tmp_path: Path, protocol: str) -> None:
    configs = {
        "num.partitions": str(PARTITIONS),
        "group.initial.rebalance.delay.ms": "0",
        "group.consumer.assignment.interval.ms": "0",
        "group.consumer.heartbeat.interval.ms": "500",
    }
    served = Served(tmp_path / "logs", configs=configs)
    chain = Chain(served.bootstrap_servers, protocol)
    chain.start()
    served.kill_often(KILLS, random.Random(protocol), between=(0.3, 2.0))
    time.sleep(1.0)
    chain.stop("produce")
    wait_until(lambda: chain.lag() == 0, "the workers' group")
    chain.stop("work")
    made = octavo.scan(tmp_path / "logs", topics=["out"], isolation_level="read_committed").to_table().num_rows
    wait_until(lambda: len(chain.checked()) == made, "the checkers' group")
    chain.stop("check")
    served.end(signal.SIGTERM)
    seen = chain.seen
    commits = sum(len(set(offsets)) for offsets in seen.committed.values())
    print(f"{KILLS} kills: {len(seen.acknowledged)} acknowledged, {made} copied, {commits} commits seen")
    assert len(seen.acknowledged) > 100 * KILLS and commits > KILLS
    assert not seen.failures
    judge(tmp_path / "logs", seen)


def wait_until(is_done: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + _SECONDS
    while not is_done():
        assert time.monotonic() < end, f"{what} is stuck"
        time.sleep(0.2)


def judge(logs: Path, seen: Seen) -> None:
    """Compare the log with what the clients saw."""
    sources = octavo.scan(logs, topics=["in"]).to_table().to_pylist()
    results = octavo.scan(logs, topics=["out"], isolation_level="read_committed").to_table().to_pylist()
    places = {row["value"]: (row["partition"], row["offset"]) for row in sources}
    assert not [value for value, count in Counter(row["value"] for row in sources).items() if count > 1]
    assert {value: places.get(value) for value in seen.acknowledged} == seen.acknowledged
    assert Counter(row["value"] for row in results) == Counter(places.keys())
    order: dict[tuple[int, bytes], int] = {}
    for row in results:  # each partition of `out` has the records of one partition of `in`, in order
        key = row["partition"], row["value"].split(b"-")[0]
        assert places[row["value"]][1] > order.get(key, -1)
        order[key] = places[row["value"]][1]
    for offsets in seen.committed.values():
        assert offsets == sorted(offsets)
    known = {(row["partition"], row["offset"]): row["value"] for row in results}
    for assignment in seen.polled:
        last: dict[int, int] = {}
        for partition, offset, value in assignment:
            assert not value.startswith(ABORTED)
            assert known[partition, offset] == value
            assert offset > last.get(partition, -1)
            last[partition] = offset
    assert {(partition, offset) for assignment in seen.polled for partition, offset, _ in assignment} == known.keys()
