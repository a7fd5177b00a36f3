"""ACLs, users and logins: the same requests to a real Kafka 4.3.1 with its authorizer, and to ours."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import octavo
from octavo.broker.broker import Broker
from octavo.broker.security.acls import CLUSTER_NAME, Operation, PatternType, Permission, ResourceType
from octavo.broker.security.scram import ScramCredential, ScramMechanism
from octavo.broker.security.store import SecurityStore
from octavo.config.table import BROKER_CONFIGS, SYNONYMS
from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from octavo.format.protocol.apis import Api
from tests.broker.logins import SASL_CONFIGS
from tests.broker.raw import RawClient
from tests.broker.requests import batch, produced
from tests.broker.twin import NO_ID, Twin
from tests.interop.broker import PROPERTIES, free_ports
from tests.interop.broker import Broker as KafkaBroker

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("broker")]

SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
SECURITY = {
    **SASL_CONFIGS,
    "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": SCRAM_MODULE,
    "listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config": SCRAM_MODULE,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin;User:ANONYMOUS",
}
TOPICS = {"t": 1, "orders": 1, "orders.eu": 1}
ALL_ACLS = {"resourceTypeFilter": 1, "resourceNameFilter": None, "patternTypeFilter": 1, "principalFilter": None,
            "hostFilter": None, "operation": 1, "permissionType": 1}  # fmt: skip


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    folder = tmp_path_factory.mktemp("acls")
    plain, sasl, controller = free_ports(3)
    addresses = {
        "listeners": f"PLAINTEXT://localhost:{plain},SASL_PLAINTEXT://localhost:{sasl},"
        f"CONTROLLER://localhost:{controller}",
        "controller.quorum.bootstrap.servers": f"localhost:{controller}",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT",
    }
    real = KafkaBroker(folder / "kafka", {**SECURITY, **addresses})
    real.start()
    shared = {name: value for name, value in PROPERTIES.items() if name in {**BROKER_CONFIGS, **SYNONYMS}}
    listen = "SASL_PLAINTEXT://127.0.0.1:0"
    with Broker(folder / "ours", listen=listen, configs={**shared, **SECURITY}) as ours:
        both = Twin(("localhost", sasl), ours.address)
        both.user = "admin"
        for topic, partitions in TOPICS.items():
            wanted = {"name": topic, "numPartitions": partitions, "replicationFactor": 1}
            both.ask(apis.CREATE_TOPICS, 4, {"topics": [wanted], "timeoutMs": 10_000})
        both.learn_ids(TOPICS)
        both.wait_for_producer_ids()
        both.ask(apis.PRODUCE, 9, produced("t", 0, batch("x")))
        yield both
    real.kill()


@pytest.fixture(autouse=True)
def _without_acls(twin: Twin) -> None:
    twin.user = "admin"
    twin.ask(apis.DELETE_ACLS, 3, {"filters": [ALL_ACLS]})
    settle(twin)


def acl(kind: int, name: str, operation: int, **fields: object) -> Row:
    return {
        "resourceType": kind, "resourceName": name, "resourcePatternType": PatternType.LITERAL,
        "principal": "User:alice", "host": "*", "operation": operation, "permissionType": Permission.ALLOW, **fields,
    }  # fmt: skip


def add(twin: Twin, *acls: Row) -> None:
    twin.user = "admin"
    twin.ask(apis.CREATE_ACLS, 3, {"creations": list(acls)})
    settle(twin)


def settle(twin: Twin) -> None:
    """Wait for the real broker, whose authorizer learns of ACLs from its metadata log."""
    end = time.monotonic() + 20
    while True:
        try:
            twin.ask(apis.DESCRIBE_ACLS, 3, ALL_ACLS)
            return
        except AssertionError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


ON_TOPICS: list[tuple[Api, int, Row]] = [
    (apis.PRODUCE, 9, produced("t", 0, batch("x"))),
    (apis.PRODUCE, 9, produced("absent", 0, batch("x"))),
    (apis.FETCH, 12, {"maxWaitMs": 0, "minBytes": 1, "maxBytes": 1000, "topics": [
        {"topic": "t", "partitions": [{"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1000}]}]}),
    (apis.FETCH, 16, {"maxWaitMs": 0, "minBytes": 1, "maxBytes": 1000, "topics": [
        {"topicId": "id of t", "partitions": [{"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1000}]}]}),
    (apis.LIST_OFFSETS, 7, {"topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "timestamp": -1}]}]}),
    (apis.OFFSET_FOR_LEADER_EPOCH, 4, {"topics": [{"topic": "t", "partitions": [
        {"partition": 0, "leaderEpoch": 0, "currentLeaderEpoch": -1}]}]}),
    (apis.METADATA, 9, {"topics": None, "includeTopicAuthorizedOperations": True,
                        "includeClusterAuthorizedOperations": True}),
    (apis.METADATA, 9, {"topics": [{"name": "t"}, {"name": "absent"}], "includeTopicAuthorizedOperations": True}),
    (apis.METADATA, 12, {"topics": [{"topicId": "id of t"}, {"topicId": NO_ID}]}),
    (apis.DESCRIBE_TOPIC_PARTITIONS, 0, {"topics": [{"name": "t"}, {"name": "absent"}]}),
    (apis.DESCRIBE_TOPIC_PARTITIONS, 0, {"topics": []}),
    (apis.DESCRIBE_CONFIGS, 4, {"resources": [{"resourceType": 2, "resourceName": "t",
                                               "configurationKeys": ["retention.ms"]}]}),
    (apis.DESCRIBE_PRODUCERS, 0, {"topics": [{"name": "t", "partitionIndexes": [0]}]}),
    (apis.CREATE_TOPICS, 7, {"topics": [{"name": "new", "numPartitions": 1, "replicationFactor": 1}],
                             "timeoutMs": 1000, "validateOnly": True}),
    (apis.CREATE_PARTITIONS, 3, {"topics": [{"name": "t", "count": 2}], "timeoutMs": 1000, "validateOnly": True}),
    (apis.INCREMENTAL_ALTER_CONFIGS, 1, {"validateOnly": True, "resources": [{"resourceType": 2, "resourceName": "t",
        "configs": [{"name": "retention.ms", "configOperation": 0, "value": "100000"}]}]}),
    (apis.ALTER_CONFIGS, 2, {"validateOnly": True, "resources": [{"resourceType": 2, "resourceName": "t",
        "configs": [{"name": "retention.ms", "value": "100000"}]}]}),
    (apis.DELETE_RECORDS, 2, {"topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "offset": 0}]}],
                              "timeoutMs": 1000}),
    (apis.DELETE_TOPICS, 6, {"topics": [{"name": "absent"}], "timeoutMs": 1000}),
    (apis.DELETE_TOPICS, 5, {"topicNames": ["absent"], "timeoutMs": 1000}),
    (apis.INIT_PRODUCER_ID, 4, {"transactionalId": None, "transactionTimeoutMs": 60_000}),
]  # fmt: skip
ON_CLUSTERS: list[tuple[Api, int, Row]] = [
    (apis.DESCRIBE_CLUSTER, 1, {"includeClusterAuthorizedOperations": True}),
    (apis.DESCRIBE_LOG_DIRS, 4, {"topics": []}),
    (apis.ELECT_LEADERS, 2, {"electionType": 0, "timeoutMs": 1000,
                             "topicPartitions": [{"topic": "t", "partitions": [0]}]}),
    (apis.LIST_CONFIG_RESOURCES, 1, {"resourceTypes": [16]}),
    (apis.DESCRIBE_CONFIGS, 4, {"resources": [{"resourceType": 4, "resourceName": "1",
                                               "configurationKeys": ["num.partitions"]}]}),
    (apis.DESCRIBE_CLIENT_QUOTAS, 1, {"components": [{"entityType": "user", "matchType": 2, "match": None}]}),
    (apis.DESCRIBE_ACLS, 3, ALL_ACLS),
    (apis.CREATE_ACLS, 3, {"creations": [acl(2, "t", 3)]}),
    (apis.DELETE_ACLS, 3, {"filters": [{**ALL_ACLS, "principalFilter": "User:nobody"}]}),
    (apis.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, {"users": [{"name": "nobody"}]}),
    (apis.ALTER_USER_SCRAM_CREDENTIALS, 0, {"deletions": [{"name": "nobody", "mechanism": 1}], "upsertions": []}),
]  # fmt: skip


def ask_all(twin: Twin) -> None:
    twin.user = "alice"
    for api, version, body in ON_TOPICS + ON_CLUSTERS:
        twin.ask(api, version, body)


def test_without_acls_nothing_is_allowed(twin: Twin) -> None:
    ask_all(twin)


@pytest.mark.parametrize("operation", [operation for operation in Operation if operation != Operation.ANY])
def test_what_an_operation_on_a_topic_allows(twin: Twin, operation: Operation) -> None:
    add(twin, acl(ResourceType.TOPIC, "t", operation), acl(ResourceType.TOPIC, "absent", operation),
        acl(ResourceType.TOPIC, "new", operation))  # fmt: skip
    ask_all(twin)


@pytest.mark.parametrize("operation", [operation for operation in Operation if operation != Operation.ANY])
def test_what_an_operation_on_the_cluster_allows(twin: Twin, operation: Operation) -> None:
    add(twin, acl(ResourceType.CLUSTER, CLUSTER_NAME, operation))
    ask_all(twin)


@pytest.mark.parametrize("seed", range(8))
def test_random_acls(twin: Twin, seed: int) -> None:
    choose = random.Random(seed)
    patterns = [("orders", 3), ("orders", 4), ("ord", 4), ("*", 3), ("orders.eu", 3), ("t", 3), ("o", 4), ("x", 4)]

    def one() -> Row:
        name, pattern = choose.choice(patterns)
        kind = choose.choice([ResourceType.TOPIC] * 5 + [ResourceType.CLUSTER])
        if kind == ResourceType.CLUSTER:
            name, pattern = CLUSTER_NAME, PatternType.LITERAL
        return acl(
            kind, name, choose.choice([2, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12]), resourcePatternType=pattern,
            principal=choose.choice(["User:alice", "User:alice", "User:*", "User:bob"]),
            host=choose.choice(["*", "*", "127.0.0.1", "10.0.0.1"]),
            permissionType=choose.choice([Permission.ALLOW, Permission.ALLOW, Permission.DENY]),
        )  # fmt: skip

    add(twin, *(one() for _ in range(choose.randrange(1, 12))))
    for twin.user in ("alice", "bob"):
        twin.ask(*ON_TOPICS[6])
        twin.ask(*ON_TOPICS[-1])
    twin.user = "admin"
    for field, value in (("resourceNameFilter", "orders.eu"), ("principalFilter", "User:*"), ("operation", 3)):
        for pattern in (1, 2, 3, 4):
            twin.ask(apis.DESCRIBE_ACLS, 3, {**ALL_ACLS, "patternTypeFilter": pattern, field: value})
    twin.ask(
        apis.DELETE_ACLS, 2, {"filters": [{**ALL_ACLS, "patternTypeFilter": 2, "resourceNameFilter": "orders.eu"}]}
    )
    settle(twin)
    twin.ask(apis.DESCRIBE_ACLS, 1, ALL_ACLS)


def test_acls_that_cannot_be(twin: Twin) -> None:
    good = acl(2, "t", 3)
    for wrong in ({"resourceName": ""}, {"principal": "alice"}, {"resourceType": 4}):
        twin.ask(apis.CREATE_ACLS, 3, {"creations": [{**good, **wrong}, good]})


def test_users(twin: Twin) -> None:
    def alter(*upsertions: Row, deletions: tuple[Row, ...] = ()) -> None:
        body = {"deletions": list(deletions), "upsertions": list(upsertions)}
        twin.ask(apis.ALTER_USER_SCRAM_CREDENTIALS, 0, body)
        time.sleep(0.2)
        twin.ask(apis.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, {"users": None})

    carol = {"name": "carol", "mechanism": 1, "iterations": 4096, "salt": b"salt", "saltedPassword": b"p" * 32}
    alter(carol)
    alter({**carol, "iterations": 4095}, {**carol, "name": "dave"})
    alter({**carol, "iterations": 16385})
    alter({**carol, "name": ""})
    alter({**carol, "mechanism": 3})
    alter(carol, carol)
    alter({**carol, "mechanism": 2, "iterations": 8192})
    alter(deletions=({"name": "nobody", "mechanism": 1},))
    asked = [{"name": "carol"}, {"name": "carol"}, {"name": "nobody"}, {"name": "dave"}]
    twin.ask(apis.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, {"users": asked})
    alter({**carol, "mechanism": 2}, {**carol, "mechanism": 1})
    alter(carol, deletions=({"name": "carol", "mechanism": 2},))
    alter(deletions=({"name": "carol", "mechanism": 1}, {"name": "carol", "mechanism": 2}))
    alter(deletions=({"name": "carol", "mechanism": 1},))
    alter(deletions=({"name": "carol", "mechanism": 2},))


def test_requests_before_and_after_a_login(twin: Twin) -> None:
    twin.user = None
    twin.ask(apis.METADATA, 12, {"topics": None})
    twin.ask(apis.SASL_HANDSHAKE, 1, {"mechanism": "OAUTHBEARER"})
    twin.ask(apis.SASL_HANDSHAKE, 0, {"mechanism": "PLAIN"})
    twin.user = "bob"
    twin.ask(apis.SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"})
    twin.ask(apis.SASL_AUTHENTICATE, 2, {"authBytes": b""})


def test_a_directory_that_kafka_served_keeps_its_users_and_acls(tmp_path: Path) -> None:
    carol = {"name": "carol", "mechanism": 2, "iterations": 4096, "salt": b"salt", "saltedPassword": b"p" * 64}
    wanted = [acl(2, "t", 3), acl(2, "x", 4, resourcePatternType=4, permissionType=2), acl(2, "gone", 4)]
    real = KafkaBroker(tmp_path, {**SECURITY, "allow.everyone.if.no.acl.found": "true"})
    real.start()
    with RawClient(("localhost", real.port)) as client:
        client.ask(apis.ALTER_USER_SCRAM_CREDENTIALS, 0, {"deletions": [], "upsertions": [carol]})
        client.ask(apis.CREATE_ACLS, 3, {"creations": wanted})
        client.ask(apis.DELETE_ACLS, 3, {"filters": [{**ALL_ACLS, "resourceNameFilter": "gone"}]})
    real.stop()
    with octavo.LogDir(real.log_dir) as logs:
        taken_over = SecurityStore(logs)
        assert {found.resource_name for found in taken_over.acls} == {"t", "x"}
        salted, salt = b"p" * 64, b"salt"
        expected = ScramCredential.of_salted(ScramMechanism.SCRAM_SHA_512, salted, salt, 4096)
        assert taken_over.scram(ScramMechanism.SCRAM_SHA_512) == {"carol": expected}
        taken_over.change_acls(lambda acls: frozenset())
        assert SecurityStore(logs).acls == frozenset()
        assert SecurityStore(logs).scram(ScramMechanism.SCRAM_SHA_512) == {"carol": expected}
