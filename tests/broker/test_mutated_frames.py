"""Mutated requests of every API and version, before and after a login: others are served, and memory stays flat."""

from __future__ import annotations

import os
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from octavo.format.protocol.apis import DELETE_TOPICS, METADATA
from tests.broker.good_client import assert_served, make_topics
from tests.broker.logins import SASL_CONFIGS
from tests.broker.mutants import Mutants, topic_ids
from tests.broker.plausible import TOPIC
from tests.broker.raw import RawClient
from tests.broker.served import Served

FRAMES = int(os.environ.get("OCTAVO_MUTATED_FRAMES", "3000"))
SEED = int(os.environ.get("OCTAVO_MUTATED_SEED", "7"))
SLICES = 10
GROWTH_BYTES = 64 << 20
# Configs of a broker that one would expose: users log in over SASL, and asking for a topic does not create it.
CONFIGS = {**SASL_CONFIGS, "auto.create.topics.enable": "false"}
KEPT = {"kept"}


def test_mutated_frames(tmp_path: Path) -> None:
    served = Served(tmp_path / "logs", protocols=("PLAINTEXT", "SASL_PLAINTEXT"), configs=CONFIGS)
    open_door, guarded = served.addresses["PLAINTEXT"], served.addresses["SASL_PLAINTEXT"]
    with RawClient(open_door) as good, ThreadPoolExecutor(3) as threads:
        make_topics(good, ["kept", TOPIC, "u"])
        ids = topic_ids(open_door, [TOPIC, "u"])
        senders = {
            "without a login": Mutants(guarded, SEED, ids, user=None),
            "logged in": Mutants(guarded, SEED + 1, ids, user="alice"),
            "on an open listener": Mutants(open_door, SEED + 2, ids, user=None),
        }
        senders["on an open listener"].send_unchanged()
        unchanged = senders["on an open listener"].outcomes.copy()
        resident = []
        for number in range(SLICES):
            list(threads.map(lambda sender: sender.send(FRAMES // SLICES // len(senders)), senders.values()))
            assert served.is_running
            assert_served(good, "kept", f"{number}")
            tidy(good)
            resident.append(served.resident_bytes)
            outcomes = {name: dict(sender.outcomes) for name, sender in senders.items()}
            print(f"{number + 1} of {SLICES}: {resident[-1] >> 20} MB, {outcomes}", flush=True)
        for sender in senders.values():
            sender.close()
    assert served.end(signal.SIGTERM) == 0
    assert [line for line in served.complaints if ": login with " not in line] == []
    assert resident[-1] < resident[SLICES // 3] + GROWTH_BYTES
    assert unchanged["answered"] > 0.8 * unchanged.total(), unchanged
    counts = sum((sender.outcomes for sender in senders.values()), Counter())
    assert counts["answered"] > FRAMES // 10
    assert counts["closed"] > FRAMES // 10


def tidy(client: RawClient) -> None:
    """Delete the topics that mutants have created, and create again those that they have deleted."""
    answer = client.ask(METADATA, 9, {"topics": None})
    assert answer is not None
    names = [row["name"] for row in answer["topics"] if row["name"] not in KEPT and not row["isInternal"]]
    assert client.ask(DELETE_TOPICS, 4, {"topicNames": names, "timeoutMs": 10_000}) is not None
    make_topics(client, [TOPIC, "u"])
