"""Random requests of every API and version to a real Kafka 4.3.1 and to ours: the same answers, except for ids,
times and the wording of messages."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

import pytest

from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from octavo.format.protocol.apis import APIS, Api
from tests.broker.random_twin import RandomTwin, requests_of
from tests.broker.twin import ZERO_ID

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("broker")]

REQUESTS = int(os.environ.get("OCTAVO_RANDOM_REQUESTS", "4"))
SEED = int(os.environ.get("OCTAVO_RANDOM_SEED", "7"))
SASL = (apis.SASL_HANDSHAKE, apis.SASL_AUTHENTICATE)


class Deliberate(NamedTuple):
    """Requests that ours answers differently on purpose, and why."""

    api: Api
    matches: Callable[[Row], bool]
    reason: str


def names_a_resource_twice(body: Row) -> bool:
    kinds = (2, 4, 8, 16, 32)  # Kafka treats all others as one kind
    named = [(row["resourceType"] in kinds and row["resourceType"], row["resourceName"]) for row in body["resources"]]
    return len(set(named)) < len(named)


def is_written(marker: Row) -> bool:
    return any(row["name"] == "x" and {0, 1} & set(row["partitionIndexes"]) for row in marker["topics"])


DELIBERATE: list[Deliberate] = [
    Deliberate(
        apis.PRODUCE,
        lambda body: any(row["records"] is None for data in body["topicData"] for row in data["partitionData"]),
        "Kafka never answers a request without records; ours answers INVALID_RECORD",
    ),
    Deliberate(
        apis.ADD_PARTITIONS_TO_TXN,
        lambda body: not body.get("transactions", True),
        "Kafka never answers a request without transactions; ours answers that there are none",
    ),
    Deliberate(
        apis.METADATA,
        lambda body: any(row.get("topicId") == ZERO_ID and row["name"] is None for row in body["topics"] or ()),
        "Kafka fails on a topic with neither name nor id; ours answers INVALID_TOPIC_EXCEPTION",
    ),
    Deliberate(
        apis.JOIN_GROUP,
        lambda body: len({row["name"] for row in body["protocols"]}) < len(body["protocols"]),
        "Kafka never answers a request that names a protocol twice; ours takes the first",
    ),
    Deliberate(
        apis.CREATE_TOPICS,
        lambda body: {"a.b", "a_b"} <= {row["name"] for row in body["topics"]},
        "Kafka creates topics that differ only in `.` and `_` if they are in the same request; ours only the first",
    ),
    Deliberate(
        apis.DELETE_TOPICS,
        lambda body: len({repr(row) for row in body.get("topics", ())}) < len(body.get("topics", ())),
        "Kafka answers twice if a topic is given twice by both name and id; ours answers once",
    ),
    Deliberate(
        apis.ALTER_CONFIGS,
        names_a_resource_twice,
        "Kafka does not answer a request that names a resource twice; ours answers INVALID_REQUEST",
    ),
    Deliberate(
        apis.DESCRIBE_CONFIGS,
        names_a_resource_twice,
        "Kafka describes a resource as often as it is named; ours once, since a small request could ask for gigabytes",
    ),
    Deliberate(
        apis.DESCRIBE_CONFIGS,
        lambda body: any(row["resourceType"] == 4 and not row["configurationKeys"] for row in body["resources"]),
        "Kafka has more configs of brokers: test_broker_configs_with_kafka.py compares those that ours has",
    ),
    Deliberate(
        apis.WRITE_TXN_MARKERS,
        lambda body: len(body["markers"]) > 1 and not all(map(is_written, body["markers"])),
        "Kafka does not answer if one marker is written and another one is not; ours does",
    ),
    Deliberate(
        apis.OFFSET_FETCH,
        lambda body: any(row.get("memberId", "") is None and row["memberEpoch"] >= 0 for row in body.get("groups", ())),
        "Kafka fails on a member epoch without a member id; ours answers UNKNOWN_MEMBER_ID",
    ),
    Deliberate(
        apis.CREATE_ACLS,
        lambda body: any(
            0 in (row["resourceType"], row["operation"])
            or 1 in (row["resourceType"], row["operation"])
            or row["permissionType"] == 1
            or row["resourcePatternType"] in (1, 2)
            for row in body["creations"]
        ),
        "Kafka closes the connection or answers UNKNOWN_SERVER_ERROR, because its classes cannot hold such an ACL; "
        "ours answers INVALID_REQUEST, and creates the others",
    ),
]


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RandomTwin]:
    with RandomTwin.filled(tmp_path_factory.mktemp("random")) as both:
        yield both


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_random_requests(twin: RandomTwin, api: Api) -> None:
    twin.user = "admin"
    number = twin.scene()
    for version in api.versions:
        random = Random(f"{SEED} {api.name} {version}")
        make, answered = requests_of(random, twin.topic_ids, number), 0
        for count in range(REQUESTS):
            body = make(api, version)
            while any(one.api is api and one.matches(body) for one in DELIBERATE):
                body = make(api, version)
            twin.user = None if api in SASL and count % 2 else "admin"
            try:
                answered += twin.ask_random(api, version, body) is not None
            except AssertionError as error:
                raise AssertionError(f"seed {SEED}: {error}") from None
            except TimeoutError:
                raise AssertionError(f"seed {SEED}: one broker did not answer {api.name} v{version} {body}") from None
        assert answered, f"{api.name} v{version} was never answered"
