"""A real Kafka 4.3.1 and ours with the same topics, groups, transactions, users and ACLs, for random requests."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Self

from octavo.format.batches.batch import Origin
from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from octavo.format.protocol.apis import Api
from tests.broker.acl_twin import AclTwin
from tests.broker.group_twin import UUID as MEMBER_ID
from tests.broker.plausible import Plausible
from tests.broker.requests import TIME_MS, batch, produced
from tests.broker.twin import NO_ID, UNORDERED

# Transactions write to "x": the times in its markers differ, so Fetch never asks for it.
KEPT = {"kept": 2, "other": 1, "x": 2}
SCRATCH = ("a", "b")
CONFIGS = {
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.max.session.timeout.ms": "3600000",
    "group.consumer.session.timeout.ms": "3600000",
    "transaction.max.timeout.ms": "3600000",
}
_HALF_HOUR_MS = 1_800_000
_OF_THE_METADATA_LOG = frozenset({"highWatermark", "logEndOffset", "lastFetchTimestamp", "lastCaughtUpTimestamp"})
_UNFINISHED = ("PrepareCommit", "PrepareAbort")
_FENCE = {"entityType": "user", "entityName": "fence"}
_CHANGES_METADATA = {
    apis.CREATE_TOPICS, apis.DELETE_TOPICS, apis.CREATE_PARTITIONS, apis.CREATE_ACLS, apis.DELETE_ACLS,
    apis.ALTER_CONFIGS, apis.INCREMENTAL_ALTER_CONFIGS, apis.ALTER_CLIENT_QUOTAS, apis.ALTER_USER_SCRAM_CREDENTIALS,
    apis.ALTER_PARTITION_REASSIGNMENTS, apis.ELECT_LEADERS, apis.DELETE_RECORDS,
}  # fmt: skip

# Kafka keeps what these APIs are asked about in maps by topic, and so leaves out what is named twice or is empty.
_GROUPED = {
    apis.PRODUCE, apis.LIST_OFFSETS, apis.OFFSET_COMMIT, apis.DELETE_RECORDS, apis.ADD_PARTITIONS_TO_TXN,
    apis.WRITE_TXN_MARKERS, apis.TXN_OFFSET_COMMIT, apis.FETCH, apis.OFFSET_DELETE,
}  # fmt: skip
_KEYS = "transactionalId", "producerId", "topicId", "name", "topic", "index", "partition", "partitionIndex"


Pools = dict[str, Sequence[Any]]


class RandomTwin(AclTwin):
    """Both brokers. After a change it waits until the real one shows it."""

    new_ids = MEMBER_ID
    masked = AclTwin.masked | {"transactionStartTimeMs", "lastTimestamp", "clientHost"}
    unordered = frozenset(
        UNORDERED
        | {"transactionStates", "topicPartitions", "partitions", "responses", "configResources", "entries", "entity"}
        | {
            "resultsByPartition",
            "resultsByTopicV3AndBelow",
            "topicResults",
            "partitionResponses",
        }
        | {"unknownStateFilters", "markers", "subscribedTopicNames"}
    )

    def __init__(self, real: tuple[str, int], ours: tuple[str, int]) -> None:
        super().__init__(real, ours)
        self._numbers = itertools.count(1)

    @classmethod
    @contextmanager
    def filled(cls, folder: Path) -> Iterator[Self]:
        with cls.secured(folder, CONFIGS) as both:
            both.wait_for_coordinators()
            both._create_kept()
            yield both

    @property
    def topic_ids(self) -> list[bytes]:
        """The ids of topics that are the same on both."""
        return [self._ids[0][name] for name in KEPT]

    def scene(self) -> str:
        """Create groups, a transaction and topics; returns the suffix of their names."""
        number = str(next(self._numbers))
        self._create([{"name": name, "numPartitions": 1, "replicationFactor": 1} for name in SCRATCH])
        for name in SCRATCH:
            self.ask(apis.PRODUCE, 9, produced(name, 0, batch(number)))
        self._learn_topics(SCRATCH)
        self._commit(f"simple{number}")
        self._join_classic(f"classic{number}")
        self._join_modern(f"modern{number}")
        named = {"transactionalId": f"x{number}", "transactionTimeoutMs": _HALF_HOUR_MS}
        self.ask(apis.INIT_PRODUCER_ID, 4, named)
        self.learn("pid", "producerId")
        identity = {"v3AndBelowProducerId": "id of pid", "v3AndBelowProducerEpoch": 0}
        topics = [{"name": "x", "partitions": [0]}]
        named = {"v3AndBelowTransactionalId": f"x{number}", "v3AndBelowTopics": topics}
        self.ask(apis.ADD_PARTITIONS_TO_TXN, 3, {**named, **identity})
        return number

    def ask_random(self, api: Api, version: int, body: Row) -> Row | None:
        """Our answer, after comparing it with the real one, and waiting until the real broker has applied a change."""
        of_the_metadata_log = _OF_THE_METADATA_LOG if api is apis.DESCRIBE_QUORUM else frozenset()
        self.masked = RandomTwin.masked | of_the_metadata_log
        answer = self.ask(api, version, body)
        if api in _CHANGES_METADATA:
            self._fence()
            self._learn_topics(SCRATCH)
        if api in (apis.END_TXN, apis.INIT_PRODUCER_ID):
            self._wait_for_markers()
        return answer

    def compare(self, answers: list[Row | None], about: str) -> Row | None:
        """Compare as `Twin` does, but first merge the rows of a topic that an answer to Fetch names several times."""
        for answer in answers:
            if answer is not None and about.startswith(apis.FETCH.name):
                answer["responses"] = _merged(answer["responses"])
        return super().compare(answers, about)

    def _create_kept(self) -> None:
        """Create topics with the same ids on both."""
        rows = [{"name": name, "numPartitions": count, "replicationFactor": 1} for name, count in KEPT.items()]
        with self._connected(self.real) as client:
            client.ask(apis.CREATE_TOPICS, 4, {"topics": rows, "timeoutMs": 10_000})
        self._fence()
        with self._connected(self.real) as client:
            answer = client.ask(apis.METADATA, 12, {"topics": [{"name": name} for name in KEPT]})
            assert answer is not None
        for row in answer["topics"]:
            self.logs.create_topic(row["name"], KEPT[row["name"]], topic_id=row["topicId"])
        self.learn_ids(KEPT)
        for number in range(5):
            self.ask(apis.PRODUCE, 9, produced("kept", 0, batch(f"{number}" * 50, TIME_MS + number)))

    def _create(self, rows: list[Row]) -> None:
        self.ask(apis.CREATE_TOPICS, 4, {"topics": rows, "timeoutMs": 10_000})
        self._fence()

    def _learn_topics(self, names: Sequence[str]) -> None:
        for address, ids in zip(self.addresses, self._ids, strict=True):
            with self._connected(address) as client:
                answer = client.ask(apis.METADATA, 12, {"topics": [{"name": name} for name in names]})
                assert answer is not None
                ids.update({row["name"]: row["topicId"] for row in answer["topics"] if not row["errorCode"]})
                ids.update({name: NO_ID for name in names if name not in ids})

    def _commit(self, group: str) -> None:
        partitions = [{"partitionIndex": 0, "committedOffset": 2, "committedMetadata": "m"}]
        topics = [{"name": "kept", "partitions": partitions}]
        body = {"groupId": group, "generationIdOrMemberEpoch": -1, "memberId": "", "topics": topics}
        self.ask(apis.OFFSET_COMMIT, 8, body)

    def _join_classic(self, group: str) -> None:
        timeouts = {"sessionTimeoutMs": _HALF_HOUR_MS, "rebalanceTimeoutMs": _HALF_HOUR_MS}
        protocols = [{"name": "range", "metadata": b""}]
        body = {"groupId": group, "memberId": "", "protocolType": "consumer", "protocols": protocols, **timeouts}
        self.ask(apis.JOIN_GROUP, 3, body)
        self.learn("member", "memberId")
        synced = {"groupId": group, "generationId": 1, "memberId": "id of member", "assignments": []}
        self.ask(apis.SYNC_GROUP, 3, synced)

    def _join_modern(self, group: str) -> None:
        body = {"groupId": group, "memberId": "m1", "memberEpoch": 0, "rebalanceTimeoutMs": _HALF_HOUR_MS}
        body |= {"subscribedTopicNames": ["kept"], "topicPartitions": []}
        self.ask(apis.CONSUMER_GROUP_HEARTBEAT, 1, body)

    def _fence(self) -> None:
        """Wait until the real broker has applied all changes: it does so one after the other, so two changes of a
        quota that are made now come last.

        The first of them may be seen while other parts of the same batch are still being applied.
        """
        for _ in range(2):
            value = float(next(self._numbers)) + 1e9
            ops = [{"key": "producer_byte_rate", "value": value, "remove": False}]
            self.ask(apis.ALTER_CLIENT_QUOTAS, 1, {"entries": [{"entity": [_FENCE], "ops": ops}]})
            body = {"components": [{"entityType": "user", "matchType": 0, "match": "fence"}], "strict": True}
            with self._connected(self.real) as client:
                while True:
                    answer = client.ask(apis.DESCRIBE_CLIENT_QUOTAS, 1, body)
                    assert answer is not None
                    if any(row["values"][0]["value"] == value for row in answer["entries"] or ()):
                        break
                    time.sleep(0.002)

    def _wait_for_markers(self) -> None:
        with self._connected(self.real) as client:
            while True:
                answer = client.ask(apis.LIST_TRANSACTIONS, 0, {"stateFilters": _UNFINISHED, "producerIdFilters": []})
                if not (answer or {})["transactionStates"]:
                    return
                time.sleep(0.002)


def idempotent_batch(producer_id: int, epoch: int, base_sequence: int) -> bytes:
    return batch("i", origin=Origin(producer_id=producer_id, producer_epoch=epoch, base_sequence=base_sequence))


def _merged(topics: list[Row]) -> list[Row]:
    merged: dict[Any, Row] = {}
    for topic in topics:
        known = merged.setdefault((topic["topic"], topic["topicId"]), {**topic, "partitions": []})
        known["partitions"] += topic["partitions"]
    return list(merged.values())


def damaged(records: bytes) -> bytes:
    return records[:-1] + bytes([records[-1] ^ 1])


def requests_of(random: Random, topic_ids: Sequence[bytes], number: str) -> Callable[[Api, int], Row]:
    """Makes random bodies that name what a scene has."""
    counter = itertools.count()

    def make(api: Api, version: int) -> Row:
        pools = {**_common(number), **_of_api(api, topic_ids, f"{number}-{version}-{next(counter)}")}
        body = Plausible(random, topic_ids, pools=pools).body(api, version)
        return {name: _tidied(part) for name, part in body.items()} if api in _GROUPED else body

    return make


def _tidied(value: Any) -> Any:
    """Leave out topics that were named before, topics without partitions, and partitions that were named before."""
    if not isinstance(value, list):
        return value
    rows: dict[Any, Any] = {}
    for row in value:
        tidy = {name: _tidied(part) for name, part in row.items()} if isinstance(row, dict) else row
        key = next((row[name] for name in _KEYS if name in row), None) if isinstance(row, dict) else row
        if not isinstance(row, dict) or [] not in tidy.values():
            rows.setdefault(key, tidy)
    return list(rows.values())


def _common(number: str) -> Pools:
    groups = f"simple{number}", f"classic{number}", f"modern{number}", "missing", ""
    topics = "kept", "kept", "other", "missing", "bad name", ""
    ids = f"x{number}", f"x{number}", f"y{number}", "missing", ""
    configs = "retention.ms", "cleanup.policy", "max.message.bytes", "no.such"
    return {
        **dict.fromkeys(("groupId", "groups", "groupIds", "groupsNames"), groups),
        **dict.fromkeys(("topic", "topicData.name", "topics.name", "topicName", "subscribedTopicNames"), topics),
        **dict.fromkeys(("transactionalId", "v3AndBelowTransactionalId", "transactionalIds"), ids),
        **dict.fromkeys(("memberId", "members.memberId"), ("id of member", "id of member", "m1", "m1", "nobody", "")),
        **dict.fromkeys(("producerId", "v3AndBelowProducerId"), ("id of pid", "id of pid", 12345, -1)),
        **dict.fromkeys(("producerEpoch", "v3AndBelowProducerEpoch"), (0, 0, 0, 1, -1)),
        **dict.fromkeys(("groupInstanceId", "instanceId"), (None, None, None, "i")),
        **dict.fromkeys(("timeoutMs",), (10_000,)),
        **dict.fromkeys(("transactionTimeoutMs",), (_HALF_HOUR_MS, 0, -1, 10**8)),
        **dict.fromkeys(("configs.name", "configurationKeys"), configs),
        **dict.fromkeys(("principal", "principalFilter"), ("User:alice", "User:bob", "User:*", "alice")),
        **dict.fromkeys(("host", "hostFilter"), ("*", "127.0.0.1")),
        **dict.fromkeys(("resourceTypeFilter",), (1, 2, 3, 4, 5)),
        **dict.fromkeys(("patternTypeFilter",), (1, 2, 3, 4)),
        **dict.fromkeys(("brokerIds", "replicas"), (1, 1, 1, 7)),
        "generationIdOrMemberEpoch": (1, 1, 0, -1, 2),
        "generationId": (1, 1, 0, -1),
        "memberEpoch": (1, 1, 0, 2, -1),
        "replicaId": (-1,),
        "replicaState.replicaId": (-1,),
        "committedOffset": (0, 1, 5, -1),
        "committedMetadata": ("", "m", None, "m" * 5000),
        "path": ("/no/such", "relative", ""),
        "clusterId": (None,),
    }


def _of_api(api: Api, topic_ids: Sequence[bytes], unique: str) -> Pools:
    """The values of this API's fields, where they differ from those of the other APIs."""
    scratch = "a", "b", "missing", "bad name", ""
    alterable: Pools = {
        "resourceType": (2, 2, 2, 4, 32, 0, 1),
        "resourceName": ("a", "b", "missing", "1", "7", "", "g"),
        "value": (str(10**12), "5000", "compact", "delete", "", "x"),
        "configOperation": (0, 0, 1, 2, 3),
        "resources.validateOnly": (False, True),
    }
    reassigned: Pools = {"topics.name": scratch}
    batches = [batch("x"), batch("y" * 200, TIME_MS + 7), batch("x") + batch("z"), damaged(batch("x")), b""]
    batches += [idempotent_batch(4000, epoch, base) for epoch in (0, 1) for base in (0, 0, 1, 2, 9)]
    acl: Pools = {"resourceType": (2, 2, 3, 4, 5, 0, 1), "resourceName": ("kept", "g", "kafka-cluster", "*", ""),
           "resourcePatternType": (3, 3, 4, 1, 2), "operation": range(13), "permissionType": (2, 3, 3, 1)}  # fmt: skip
    filters: Pools = {
        "resourceNameFilter": ("kept", "g", "*", ""),
        "operation": (1, 1, 2, 3),
        "permissionType": (1, 1, 2, 3),
    }
    pools: dict[Api, Pools] = {
        apis.PRODUCE: {
            "acks": (-1, -1, 1, 5),
            "topicData.name": ("kept", "other", "x", "missing", "__consumer_offsets", ""),
            "transactionalId": (None, None, "missing"),
            "records": batches,
        },
        apis.FETCH: {
            "maxWaitMs": (0, 1),
            "minBytes": (0, 1),
            "maxBytes": (0, 1, 300, 1 << 20),
            "partitionMaxBytes": (0, 1, 300, 1 << 20),
            "isolationLevel": (0, 1),
            "sessionId": (0, 0, 99),
            "sessionEpoch": (-1, 0, 1),
            "fetchOffset": (0, 1, 2, 4, 10_000, -1),
            "logStartOffset": (-1, 0),
            "topicId": (NO_ID, *topic_ids[:-1]),  # without "x"; Kafka fails on the id zero
        },
        apis.LIST_OFFSETS: {
            "timestamp": (-1, -2, -3, -4, -5, -6, 0, TIME_MS, TIME_MS + 2, TIME_MS * 2),
            "isolationLevel": (0, 1),
        },
        apis.METADATA: {"allowAutoTopicCreation": (False, True)},
        apis.JOIN_GROUP: {
            "groupId": (f"join{unique}", f"join{unique}", ""),
            "memberId": ("", "", "nobody"),
            "sessionTimeoutMs": (_HALF_HOUR_MS, _HALF_HOUR_MS, 1),
            "rebalanceTimeoutMs": (_HALF_HOUR_MS,),
            "protocolType": ("consumer", "consumer", ""),
            "protocols.name": ("range", "roundrobin"),
            "metadata": (b"", bytes(6) + b"\xff" * 4),  # Kafka never answers if it cannot read a subscription
        },
        apis.SYNC_GROUP: {"protocolType": ("consumer", "x", None), "protocolName": ("range", "x", None)},
        apis.LIST_GROUPS: {
            "statesFilter": ("Stable", "empty", "nonsense"),
            "typesFilter": ("classic", "Consumer", "nonsense"),
        },
        apis.CREATE_TOPICS: {
            "topics.name": (*scratch, "a.b", "a_b"),
            "configs.value": (str(10**12), "5000", "compact", "x"),
        },
        apis.DELETE_TOPICS: {"topics.name": scratch, "topicNames": scratch, "topicId": ("id of a", "id of b", NO_ID)},
        apis.CREATE_PARTITIONS: {"topics.name": scratch, "count": (1, 2, 3, 4, -1)},
        apis.DELETE_RECORDS: {"topics.name": scratch, "offset": (0, 1, -1, -2, 100)},
        apis.WRITE_TXN_MARKERS: {
            "topics.name": ("x", "missing"),
            "transactionVersion": (0, 1, 2),
            "producerId": ("id of pid", 12345),  # Kafka fails on -1
            "producerEpoch": (0, 0, 1),  # and on an epoch of -1
        },
        apis.ADD_PARTITIONS_TO_TXN: {"topics.name": ("x", "missing"), "v3AndBelowTopics.name": ("x", "missing")},
        apis.CREATE_ACLS: acl,
        apis.DESCRIBE_ACLS: filters,
        apis.DELETE_ACLS: filters,
        apis.DESCRIBE_CONFIGS: {**alterable, "resourceName": ("kept", "other", "missing", "1", "7", "", "g")},
        apis.ALTER_CONFIGS: alterable,
        apis.INCREMENTAL_ALTER_CONFIGS: alterable,
        apis.ALTER_PARTITION_REASSIGNMENTS: reassigned,
        apis.DESCRIBE_CLIENT_QUOTAS: {
            "entityType": ("user", "user", "client-id", "ip", "x"),
            "matchType": (0, 1, 2, 3),
            "match": ("alice", "127.0.0.1", ""),
        },
        apis.ALTER_CLIENT_QUOTAS: {
            "entityType": ("user", "user", "client-id", "ip", "x"),
            "entityName": ("alice", "10.0.0.1", "", None),
            "key": ("producer_byte_rate", "request_percentage", "connection_creation_rate", "nope"),
            "value": (1e9, 2e9, 0.5, -1.0),
        },
        apis.DESCRIBE_USER_SCRAM_CREDENTIALS: {"users.name": ("carol", "dave", "nobody", "")},
        apis.ALTER_USER_SCRAM_CREDENTIALS: {
            **dict.fromkeys(("deletions.name", "upsertions.name"), ("carol", "carol", "dave", "")),
            "mechanism": (1, 1, 2, 0, 3),
            "iterations": (4096, 8192, 1, 100_000),
            "salt": (b"salt",),  # Kafka fails on an empty one
            "saltedPassword": (b"p" * 32, b"q" * 64),
        },
        apis.DESCRIBE_QUORUM: {"topicName": ("__cluster_metadata", "kept")},
        apis.DESCRIBE_CLUSTER: {"endpointType": (1, 1, 2, 3)},
        apis.LIST_TRANSACTIONS: {
            "stateFilters": ("Ongoing", "Empty", "CompleteCommit", "nonsense"),
            "producerIdFilters": ("id of pid", 12345),
            "durationFilter": (-1, 0, 10**9),
            "transactionalIdPattern": ("x.*", "y.*", "(", "", None),
        },
        apis.CONSUMER_GROUP_HEARTBEAT: {
            "rebalanceTimeoutMs": (-1, _HALF_HOUR_MS),
            "subscribedTopicNames": ("kept", "missing"),
            "subscribedTopicRegex": (None, None, "("),
            "serverAssignor": (None, None, "range", "uniform", "x"),
            "rackId": (None, None, "r", ""),
        },
        apis.LIST_CONFIG_RESOURCES: {"resourceTypes": (2, 4, 8, 16, 32, 0, 1)},
        apis.DESCRIBE_TOPIC_PARTITIONS: {"responsePartitionLimit": (1, 2, 100), "topics.name": ("kept", "missing")},
        apis.ELECT_LEADERS: {"electionType": (0, 1)},
        apis.FIND_COORDINATOR: {"keyType": (0, 1, 7), "key": ("g", ""), "coordinatorKeys": ("g", "")},
        apis.API_VERSIONS: {
            "clientSoftwareName": ("raw", "a-b.c", "", "bad name", "-x"),
            "clientSoftwareVersion": ("1.0", "", "1 0"),
        },
    }
    return pools.get(api, {})
