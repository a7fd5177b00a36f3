"""The same requests to a real Kafka 4.3.1 and to ours, over the same content: the same answers, except for ids,
times and the wording of messages."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from tests.broker.requests import TIME_MS, batch, produced
from tests.broker.twin import NO_ID, Twin

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("broker")]


@pytest.mark.parametrize("version", list(apis.PRODUCE.versions))
def test_produce(twin: Twin, version: int) -> None:
    def ask(topic: str, partition: int, records: bytes | None, **options: int) -> Row | None:
        body = produced(topic, partition, records, **options)
        if version >= 13:
            data = body["topicData"][0]
            del data["name"]
            data["topicId"] = f"id of {topic}" if topic == "t" else NO_ID
        return twin.ask(apis.PRODUCE, version, body)

    damaged = bytearray(batch("damaged"))
    damaged[-1] ^= 1
    assert ask("t", 0, batch("fine")) is not None
    ask("t", 9, batch("no such partition"))
    ask("nowhere", 0, batch("no such topic"))
    ask("t", 0, bytes(damaged))
    ask("t", 0, b"")
    ask("t", 0, batch("two") * 2)
    ask("t", 0, batch("half")[:-3])
    ask("t", 0, batch("acks"), acks=5)
    ask("t", 0, batch("acks"), acks=1)


def test_produce_to_a_topic_that_needs_more_replicas_than_there_are(twin: Twin) -> None:
    configs = [{"name": "min.insync.replicas", "value": "2"}]
    wanted = {"name": "strict", "numPartitions": 1, "replicationFactor": 1, "configs": configs}
    twin.ask(apis.CREATE_TOPICS, 4, {"topics": [wanted], "timeoutMs": 10_000})
    twin.learn_ids(["strict"])
    twin.eventually(apis.FETCH, 12, fetched("strict", 12, {}))  # the real broker leads a new partition a moment later
    twin.ask(apis.PRODUCE, 9, produced("strict", 0, batch("fine")))


def fetched(topic: str, version: int, *partitions: Row, **fields: Any) -> Row:
    name = {"topicId": f"id of {topic}" if topic in ("t", "empty") else NO_ID} if version >= 13 else {"topic": topic}
    filled = [{"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1 << 20, **row} for row in partitions]
    topics = [{**name, "partitions": filled}]
    return {"maxWaitMs": 0, "minBytes": 1, "maxBytes": 1 << 20, "topics": topics, **fields}


@pytest.mark.parametrize("version", list(apis.FETCH.versions))
def test_fetch(twin: Twin, version: int) -> None:
    for isolation in (0, 1):
        twin.ask(apis.FETCH, version, fetched("t", version, {}, isolationLevel=isolation))
    twin.ask(apis.FETCH, version, fetched("t", version, {}, {"partition": 1}))
    twin.ask(apis.FETCH, version, fetched("t", version, {"fetchOffset": 1}, maxBytes=1))
    twin.ask(apis.FETCH, version, fetched("t", version, {"fetchOffset": 1, "partitionMaxBytes": 1}))
    twin.ask(apis.FETCH, version, fetched("t", version, {"fetchOffset": 10_000}))
    twin.ask(apis.FETCH, version, fetched("t", version, {"fetchOffset": -5}))
    twin.ask(apis.FETCH, version, fetched("t", version, {"partition": 9}))
    twin.ask(apis.FETCH, version, fetched("nowhere", version, {}))
    twin.ask(apis.FETCH, version, fetched("empty", version, {}, maxWaitMs=50))
    if version >= 9:
        twin.ask(apis.FETCH, version, fetched("t", version, {"currentLeaderEpoch": 7}))
    if version >= 12:
        twin.ask(apis.FETCH, version, fetched("t", version, {"lastFetchedEpoch": 0}))
    if version >= 7:
        twin.ask(apis.FETCH, version, fetched("t", version, {}, sessionId=99, sessionEpoch=4))


@pytest.mark.parametrize("version", list(apis.LIST_OFFSETS.versions))
@pytest.mark.parametrize("timestamp", [-1, -2, -3, -4, -5, -6, 0, TIME_MS + 1, TIME_MS * 2])
def test_list_offsets(twin: Twin, version: int, timestamp: int) -> None:
    for topic, partition in (("t", 0), ("t", 1), ("t", 9), ("nowhere", 0)):
        asked = {"partitionIndex": partition, "timestamp": timestamp}
        twin.ask(apis.LIST_OFFSETS, version, {"replicaId": -1, "topics": [{"name": topic, "partitions": [asked]}]})
    twice = [{"partitionIndex": 0, "timestamp": timestamp}] * 2
    twin.ask(apis.LIST_OFFSETS, version, {"replicaId": -1, "topics": [{"name": "t", "partitions": twice}]})


@pytest.mark.parametrize("version", list(apis.METADATA.versions))
def test_metadata(twin: Twin, version: int) -> None:
    for names in (["t"], ["t", "nowhere"], ["bad name"], []):
        twin.ask(apis.METADATA, version, {"topics": [{"name": name} for name in names]})
    if version >= 1:
        twin.ask(apis.METADATA, version, {"topics": None})
    if version >= 8:
        twin.ask(apis.METADATA, version, {"topics": [{"name": "t"}], "includeTopicAuthorizedOperations": True})
    if version >= 10:
        twin.ask(apis.METADATA, version, {"topics": [{"topicId": "id of t", "name": None}]})
        twin.ask(apis.METADATA, version, {"topics": [{"topicId": NO_ID, "name": None}]})


@pytest.mark.parametrize("version", list(apis.CREATE_TOPICS.versions))
def test_create_topics(twin: Twin, version: int) -> None:
    def ask(*topics: Row) -> None:
        rows = [{"name": "new", "numPartitions": 1, "replicationFactor": 1, **row} for row in topics]
        twin.ask(apis.CREATE_TOPICS, version, {"topics": rows, "timeoutMs": 5000, "validateOnly": True})

    ask({})
    ask({}, {})
    ask({"name": "t"})
    ask({"name": "bad name"})
    ask({"numPartitions": 0})
    ask({"replicationFactor": 0})
    ask({"replicationFactor": 3})
    ask({"configs": [{"name": "retention.ms", "value": "1000"}]})
    ask({"configs": [{"name": "no.such", "value": "1000"}]})
    ask({"configs": [{"name": "retention.ms", "value": "soon"}]})
    assigned = {"replicationFactor": -1, "numPartitions": -1}
    ask({**assigned, "assignments": [{"partitionIndex": 0, "brokerIds": [1]}]})
    ask({**assigned, "assignments": [{"partitionIndex": 0, "brokerIds": [7]}]})
    ask({"assignments": [{"partitionIndex": 0, "brokerIds": [1]}]})
    if version >= 4:
        ask({"numPartitions": -1, "replicationFactor": -1})


@pytest.mark.parametrize("version", list(apis.DELETE_TOPICS.versions))
def test_delete_topics(twin: Twin, version: int) -> None:
    if version < 6:
        for names in (["nowhere"], ["t", "t"], ["nowhere"] * 3):
            twin.ask(apis.DELETE_TOPICS, version, {"topicNames": names, "timeoutMs": 5000})
    else:
        by_name, by_id = {"name": "t"}, {"name": None, "topicId": "id of t"}
        for rows in (
            [{"name": "nowhere"}],
            [{"name": None, "topicId": NO_ID}],
            [{"name": "t", "topicId": "id of t"}],
            [by_name, by_name],
            [by_id, by_id],
            [by_name, by_id],
        ):
            twin.ask(apis.DELETE_TOPICS, version, {"topics": rows, "timeoutMs": 5000})


@pytest.mark.parametrize("version", list(apis.CREATE_PARTITIONS.versions))
def test_create_partitions(twin: Twin, version: int) -> None:
    for rows in (
        [{"name": "t", "count": 3, "assignments": None}],
        [{"name": "t", "count": 2, "assignments": None}],
        [{"name": "t", "count": 1, "assignments": None}],
        [{"name": "nowhere", "count": 2, "assignments": None}],
        [{"name": "t", "count": 3, "assignments": None}] * 2,
        [{"name": "t", "count": 3, "assignments": [{"brokerIds": [1]}]}],
        [{"name": "t", "count": 3, "assignments": [{"brokerIds": [1]}, {"brokerIds": [1]}]}],
    ):
        twin.ask(apis.CREATE_PARTITIONS, version, {"topics": rows, "timeoutMs": 5000, "validateOnly": True})


@pytest.mark.parametrize("version", list(apis.DELETE_RECORDS.versions))
def test_delete_records(twin: Twin, version: int) -> None:
    for topic, partition, offset in (("t", 0, 0), ("t", 0, 100_000), ("t", 0, -2), ("t", 9, 0), ("nowhere", 0, 0)):
        asked = {"partitionIndex": partition, "offset": offset}
        twin.ask(apis.DELETE_RECORDS, version, {"topics": [{"name": topic, "partitions": [asked]}], "timeoutMs": 5000})


@pytest.mark.parametrize("version", list(apis.OFFSET_FOR_LEADER_EPOCH.versions))
def test_offset_for_leader_epoch(twin: Twin, version: int) -> None:
    for topic, partition, current, epoch in (
        *(("t", 0, -1, 0), ("t", 0, 0, 0), ("t", 0, 5, 0), ("t", 0, -1, 9), ("t", 1, -1, 0)),
        *(("t", 9, -1, 0), ("nowhere", 0, -1, 0)),
    ):
        asked = {"partition": partition, "currentLeaderEpoch": current, "leaderEpoch": epoch}
        body: Row = {"topics": [{"topic": topic, "partitions": [asked]}]}
        twin.ask(apis.OFFSET_FOR_LEADER_EPOCH, version, body)


@pytest.mark.parametrize("version", list(apis.INIT_PRODUCER_ID.versions))
def test_init_producer_id(twin: Twin, version: int) -> None:
    twin.ask(apis.INIT_PRODUCER_ID, version, {"transactionalId": None, "transactionTimeoutMs": 60_000})
    twin.ask(apis.INIT_PRODUCER_ID, version, {"transactionalId": "", "transactionTimeoutMs": 60_000})


@pytest.mark.parametrize("version", list(apis.DESCRIBE_CLUSTER.versions))
def test_describe_cluster(twin: Twin, version: int) -> None:
    for asked in (False, True):
        twin.ask(apis.DESCRIBE_CLUSTER, version, {"includeClusterAuthorizedOperations": asked})
    if version >= 1:
        for kind in (2, 7):
            twin.ask(apis.DESCRIBE_CLUSTER, version, {"endpointType": kind})


def test_describe_topic_partitions(twin: Twin) -> None:
    for limit, names, cursor in (
        (100, [], None),
        (1, [], None),
        (100, ["t", "nowhere", "bad name"], None),
        (1, ["t"], None),
        (100, ["t"], {"topicName": "t", "partitionIndex": 1}),
        (2, ["t", "timed", "empty"], None),
    ):
        body = {"topics": [{"name": name} for name in names], "responsePartitionLimit": limit, "cursor": cursor}
        twin.ask(apis.DESCRIBE_TOPIC_PARTITIONS, 0, body)


@pytest.mark.parametrize("version", list(apis.ELECT_LEADERS.versions))
def test_elect_leaders(twin: Twin, version: int) -> None:
    asked = [{"topic": "t", "partitions": [0, 9]}, {"topic": "nowhere", "partitions": [0]}]
    for wanted in (asked, [], None):
        twin.ask(apis.ELECT_LEADERS, version, {"topicPartitions": wanted, "timeoutMs": 5000})


@pytest.mark.parametrize("version", list(apis.ALTER_PARTITION_REASSIGNMENTS.versions))
def test_alter_partition_reassignments(twin: Twin, version: int) -> None:
    def ask(*topics: tuple[str, int, list[int] | None], **fields: Any) -> None:
        rows = [
            {"name": topic, "partitions": [{"partitionIndex": partition, "replicas": replicas}]}
            for topic, partition, replicas in topics
        ]
        twin.ask(apis.ALTER_PARTITION_REASSIGNMENTS, version, {"topics": rows, **fields})

    for replicas in ([1], None, [], [7], [1, 1], [-1], [1, 7]):
        ask(("t", 0, replicas))
        ask(("t", 9, replicas), ("nowhere", 0, replicas), ("t", 0, replicas))
    if version >= 1:
        ask(("t", 0, [1]), ("t", 1, [1, 7]), allowReplicationFactorChange=False)


def test_list_partition_reassignments(twin: Twin) -> None:
    for topics in (None, [], [{"name": name, "partitionIndexes": [0, 9]} for name in ("t", "nowhere")]):
        twin.ask(apis.LIST_PARTITION_REASSIGNMENTS, 0, {"topics": topics})


@pytest.mark.parametrize("version", list(apis.DESCRIBE_QUORUM.versions))
def test_describe_quorum(twin: Twin, version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    of_the_metadata_log = {"highWatermark", "logEndOffset", "lastFetchTimestamp", "lastCaughtUpTimestamp"}
    monkeypatch.setattr(twin, "masked", twin.masked | of_the_metadata_log)
    quorum = "__cluster_metadata"
    for asked in ([(quorum, 0)], [(quorum, 1)], [("t", 0)], [(quorum, 0), ("t", 0)], [(quorum, 0), (quorum, 0)], []):
        topics = [{"topicName": topic, "partitions": [{"partitionIndex": partition}]} for topic, partition in asked]
        twin.ask(apis.DESCRIBE_QUORUM, version, {"topics": topics})


@pytest.mark.parametrize("version", list(apis.INCREMENTAL_ALTER_CONFIGS.versions))
def test_incremental_alter_configs(twin: Twin, version: int) -> None:
    for topic, name, operation, value in (
        ("t", "retention.ms", 0, "100000"),
        ("t", "retention.ms", 1, None),
        ("t", "cleanup.policy", 2, "compact"),
        ("t", "retention.ms", 2, "1"),
        ("t", "retention.ms", 0, None),
        ("t", "retention.ms", 0, "soon"),
        ("t", "no.such", 0, "1"),
        ("nowhere", "retention.ms", 0, "1"),
    ):
        config = {"name": name, "configOperation": operation, "value": value}
        resource = {"resourceType": 2, "resourceName": topic, "configs": [config]}
        body = {"resources": [resource], "validateOnly": True}
        twin.ask(apis.INCREMENTAL_ALTER_CONFIGS, version, body)


@pytest.mark.parametrize("version", list(apis.ALTER_CONFIGS.versions))
def test_alter_configs(twin: Twin, version: int) -> None:
    for topic, value in (("t", "100000"), ("t", "soon"), ("t", None), ("nowhere", "1")):
        configs = [{"name": "retention.ms", "value": value}]
        resource = {"resourceType": 2, "resourceName": topic, "configs": configs}
        twin.ask(apis.ALTER_CONFIGS, version, {"resources": [resource], "validateOnly": True})


@pytest.mark.parametrize("version", list(apis.DESCRIBE_CONFIGS.versions))
def test_describe_configs(twin: Twin, version: int) -> None:
    for kind, name, keys in (
        (2, "t", ["retention.ms", "segment.bytes", "cleanup.policy", "max.message.bytes", "no.such"]),
        (2, "t", None),
        (2, "nowhere", None),
        (4, "7", None),
        (0, "t", None),
        (64, "t", None),
    ):
        resource = {"resourceType": kind, "resourceName": name, "configurationKeys": keys}
        for with_synonyms in (False, True):
            body: Row = {"resources": [resource], "includeSynonyms": with_synonyms}
            twin.ask(apis.DESCRIBE_CONFIGS, version, body)


@pytest.mark.parametrize("version", list(apis.DESCRIBE_LOG_DIRS.versions))
def test_describe_log_dirs(twin: Twin, version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for topics in ([{"topic": "t", "partitions": [0, 9]}], [{"topic": "nowhere", "partitions": [0]}], []):
        twin.ask(apis.DESCRIBE_LOG_DIRS, version, {"topics": topics})
    monkeypatch.setattr(twin, "unordered", twin.unordered | {"partitions"})
    monkeypatch.setattr(twin, "masked", twin.masked | {"partitionSize"})  # groups may be deleted at different times
    answer = twin.ask(apis.DESCRIBE_LOG_DIRS, version, {"topics": None})
    assert answer is not None
    assert {"t", "timed", "empty"} <= {topic["name"] for topic in answer["results"][0]["topics"]}


@pytest.mark.parametrize("version", list(apis.ALTER_REPLICA_LOG_DIRS.versions))
def test_alter_replica_log_dirs(twin: Twin, version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(twin, "unordered", twin.unordered | {"partitions"})

    def ask(*dirs: tuple[str, str, list[int]]) -> None:
        rows = [{"path": path, "topics": [{"name": topic, "partitions": numbers}]} for path, topic, numbers in dirs]
        twin.ask(apis.ALTER_REPLICA_LOG_DIRS, version, {"dirs": rows})

    twin.ask(apis.DESCRIBE_LOG_DIRS, 4, {"topics": []})
    twin.learn_path("the log directory")
    for path in ("id of the log directory", "/no/such", "relative"):
        for topic in ("t", "nowhere", "", "t" * 220):
            ask((path, topic, [0, 1, 9]))
    ask()
    ask(("/no/such", "t", [0, 1]), ("id of the log directory", "t", [1, 1]))


def test_describe_producers(twin: Twin) -> None:
    for topic, partition in (("t", 0), ("t", 9), ("nowhere", 0)):
        twin.ask(apis.DESCRIBE_PRODUCERS, 0, {"topics": [{"name": topic, "partitionIndexes": [partition]}]})
