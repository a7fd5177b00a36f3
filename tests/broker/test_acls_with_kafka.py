"""ACLs, users and logins: the same requests to a real Kafka 4.3.1 with its authorizer, and to ours."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import octavo
from octavo.broker.security.acls import CLUSTER_NAME, Operation, PatternType, Permission, ResourceType
from octavo.broker.security.scram import ScramCredential, ScramMechanism
from octavo.broker.security.store import SecurityStore
from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from octavo.format.protocol.apis import Api
from tests.broker.acl_twin import ALL_ACLS, SECURITY, AclTwin, acl
from tests.broker.raw import RawClient
from tests.broker.requests import batch, produced
from tests.broker.twin import NO_ID
from tests.interop.broker import Broker as KafkaBroker

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("broker")]

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
    (apis.ALTER_PARTITION_REASSIGNMENTS, 1, {"topics": [{"name": "t", "partitions": [
        {"partitionIndex": 0, "replicas": [1]}]}]}),
    (apis.LIST_PARTITION_REASSIGNMENTS, 0, {"topics": None}),
    (apis.ALTER_REPLICA_LOG_DIRS, 2, {"dirs": [{"path": "/x", "topics": [{"name": "t", "partitions": [0]}]}]}),
    (apis.DESCRIBE_QUORUM, 2, {"topics": [{"topicName": "t", "partitions": [{"partitionIndex": 0}]}]}),
    (apis.DESCRIBE_QUORUM, 1, {"topics": [{"topicName": "t", "partitions": [{"partitionIndex": 0}]}]}),
    (apis.LIST_CONFIG_RESOURCES, 1, {"resourceTypes": [16]}),
    (apis.DESCRIBE_CONFIGS, 4, {"resources": [{"resourceType": 4, "resourceName": "1",
                                               "configurationKeys": ["num.partitions"]}]}),
    *((apis.INCREMENTAL_ALTER_CONFIGS, 1, {"validateOnly": True, "resources": [{"resourceType": 4, "resourceName": "1",
        "configs": [{"name": name, "configOperation": 0, "value": "1"}]}]})
      for name in ("log.cleaner.backoff.ms", "num.partitions", "min.insync.replicas")),
    (apis.ALTER_CONFIGS, 2, {"validateOnly": True, "resources": [{"resourceType": 4, "resourceName": "",
        "configs": []}]}),
    (apis.DESCRIBE_CLIENT_QUOTAS, 1, {"components": [{"entityType": "user", "matchType": 2, "match": None}]}),
    (apis.ALTER_CLIENT_QUOTAS, 1, {"entries": [
        {"entity": [{"entityType": "user", "entityName": "alice"}], "ops": []}]}),
    (apis.DESCRIBE_ACLS, 3, ALL_ACLS),
    (apis.CREATE_ACLS, 3, {"creations": [acl(2, "t", 3)]}),
    (apis.DELETE_ACLS, 3, {"filters": [{**ALL_ACLS, "principalFilter": "User:nobody"}]}),
    (apis.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, {"users": [{"name": "nobody"}]}),
    (apis.ALTER_USER_SCRAM_CREDENTIALS, 0, {"deletions": [{"name": "nobody", "mechanism": 1}], "upsertions": []}),
]  # fmt: skip


def test_what_is_refused_without_acls(acl_twin: AclTwin) -> None:
    acl_twin.ask_all(ON_TOPICS + ON_CLUSTERS)


@pytest.mark.parametrize("operation", [operation for operation in Operation if operation != Operation.ANY])
def test_what_an_operation_on_a_topic_allows(acl_twin: AclTwin, operation: Operation) -> None:
    acl_twin.add(acl(ResourceType.TOPIC, "t", operation), acl(ResourceType.TOPIC, "absent", operation),
        acl(ResourceType.TOPIC, "new", operation))  # fmt: skip
    acl_twin.ask_all(ON_TOPICS + ON_CLUSTERS)


@pytest.mark.parametrize("operation", [operation for operation in Operation if operation != Operation.ANY])
def test_what_an_operation_on_the_cluster_allows(acl_twin: AclTwin, operation: Operation) -> None:
    acl_twin.add(acl(ResourceType.CLUSTER, CLUSTER_NAME, operation))
    acl_twin.ask_all(ON_TOPICS + ON_CLUSTERS)


@pytest.mark.parametrize("seed", range(8))
def test_what_random_acls_allow(acl_twin: AclTwin, seed: int) -> None:
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

    acl_twin.add(*(one() for _ in range(choose.randrange(1, 12))))
    for acl_twin.user in ("alice", "bob"):
        acl_twin.ask(*ON_TOPICS[6])
        acl_twin.ask(*ON_TOPICS[-1])
    acl_twin.user = "admin"
    for field, value in (("resourceNameFilter", "orders.eu"), ("principalFilter", "User:*"), ("operation", 3)):
        for pattern in (1, 2, 3, 4):
            acl_twin.ask(apis.DESCRIBE_ACLS, 3, {**ALL_ACLS, "patternTypeFilter": pattern, field: value})
    acl_twin.ask(
        apis.DELETE_ACLS, 2, {"filters": [{**ALL_ACLS, "patternTypeFilter": 2, "resourceNameFilter": "orders.eu"}]}
    )
    acl_twin.settle()  # there may be none of these
    acl_twin.ask(apis.DESCRIBE_ACLS, 1, ALL_ACLS)


def test_invalid_acls_are_refused(acl_twin: AclTwin) -> None:
    good = acl(2, "t", 3)
    for wrong in ({"resourceName": ""}, {"principal": "alice"}, {"resourceType": 4}):
        acl_twin.ask(apis.CREATE_ACLS, 3, {"creations": [{**good, **wrong}, good]})


def test_users(acl_twin: AclTwin) -> None:
    def alter(*upsertions: Row, deletions: tuple[Row, ...] = ()) -> None:
        body = {"deletions": list(deletions), "upsertions": list(upsertions)}
        acl_twin.ask(apis.ALTER_USER_SCRAM_CREDENTIALS, 0, body)
        acl_twin.eventually(apis.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, {"users": None})

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
    acl_twin.ask(apis.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, {"users": asked})
    alter({**carol, "mechanism": 2}, {**carol, "mechanism": 1})
    alter(carol, deletions=({"name": "carol", "mechanism": 2},))
    alter(deletions=({"name": "carol", "mechanism": 1}, {"name": "carol", "mechanism": 2}))
    alter(deletions=({"name": "carol", "mechanism": 1},))
    alter(deletions=({"name": "carol", "mechanism": 2},))


def test_requests_before_and_after_a_login(acl_twin: AclTwin) -> None:
    acl_twin.user = None
    acl_twin.ask(apis.METADATA, 12, {"topics": None})
    acl_twin.ask(apis.SASL_HANDSHAKE, 1, {"mechanism": "OAUTHBEARER"})
    acl_twin.ask(apis.SASL_HANDSHAKE, 0, {"mechanism": "PLAIN"})
    acl_twin.user = "bob"
    acl_twin.ask(apis.SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"})
    acl_twin.ask(apis.SASL_AUTHENTICATE, 2, {"authBytes": b""})


@pytest.mark.parametrize("version", list(apis.SASL_AUTHENTICATE.versions))
def test_logins(acl_twin: AclTwin, version: int) -> None:
    acl_twin.user = None
    for token, code in ((b"\0bob\0bob-secret", 0), (b"bob\0bob\0bob-secret", 0), (b"\0bob\0wrong", 58), (b"bob", 58)):
        with acl_twin.connect() as connection:
            connection.ask(apis.SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"})
            answer = connection.ask(apis.SASL_AUTHENTICATE, version, {"authBytes": token})
            assert answer is not None
            assert answer["errorCode"] == code
            if code == 0:
                assert connection.ask(apis.METADATA, 12, {"topics": []}) is not None
    assert acl_twin.ask(apis.SASL_AUTHENTICATE, version, {"authBytes": b"\0bob\0bob-secret"}) is None  # no handshake


@pytest.mark.parametrize("version", list(apis.CREATE_ACLS.versions))
def test_acls_in_every_version(acl_twin: AclTwin, version: int) -> None:
    wanted = [
        acl(2, "t", 3),
        acl(2, "ord", 4, resourcePatternType=4, permissionType=2),
        acl(3, "g", 3, host="10.0.0.1"),
    ]
    with acl_twin.changing(apis.DESCRIBE_ACLS, 3, ALL_ACLS):
        acl_twin.ask(apis.CREATE_ACLS, version, {"creations": wanted})
    acl_twin.settle()
    for changed in ({}, {"resourceTypeFilter": 2}, {"patternTypeFilter": 2, "resourceNameFilter": "orders"}):
        answer = acl_twin.ask(apis.DESCRIBE_ACLS, version, {**ALL_ACLS, **changed})
        assert answer is not None
        assert answer["resources"]
    deleted = acl_twin.ask(apis.DELETE_ACLS, version, {"filters": [{**ALL_ACLS, "resourceNameFilter": "ord"}]})
    assert deleted is not None
    assert [len(row["matchingAcls"]) for row in deleted["filterResults"]] == [1]
    acl_twin.settle()


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
        assert {found.resource_name for found in taken_over.values.acls} == {"t", "x"}
        salted, salt = b"p" * 64, b"salt"
        expected = ScramCredential.of_salted(ScramMechanism.SCRAM_SHA_512, salted, salt, 4096)
        assert taken_over.scram(ScramMechanism.SCRAM_SHA_512) == {"carol": expected}
        taken_over.change_acls(lambda acls: frozenset())
        assert SecurityStore(logs).values.acls == frozenset()
        assert SecurityStore(logs).scram(ScramMechanism.SCRAM_SHA_512) == {"carol": expected}
