"""Who may use a group: the same requests to a real Kafka 4.3.1 with its authorizer, and to ours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from octavo.broker.security.acls import CLUSTER_NAME, Operation, ResourceType
from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from octavo.format.protocol.apis import Api
from tests.broker.acl_twin import AclTwin, acl
from tests.broker.group_requests import beating, committing, joining, leaving, syncing

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("broker")]

PLACES = [{"name": name, "partitions": [{"partitionIndex": 0}]} for name in ("t", "orders")]
NUMBERS = [{"name": name, "partitionIndexes": [0]} for name in ("t", "orders")]
STRANGER: Row = {"groupId": "c", "memberId": "stranger", "memberEpoch": 5, "rebalanceTimeoutMs": -1}
WATCHER: Row = {"groupId": "c", "memberId": "m", "rebalanceTimeoutMs": 60_000, "topicPartitions": []}
# A member "m" that nobody knows gets no further than the checks; commits of "g" need no member.
ASKED: list[tuple[Api, int, Row]] = [
    (apis.FIND_COORDINATOR, 3, {"key": "g", "keyType": 0}),
    (apis.JOIN_GROUP, 5, joining("g", "m")),
    (apis.SYNC_GROUP, 5, syncing("g", "m")),
    (apis.HEARTBEAT, 3, beating("g", "m")),
    (apis.LEAVE_GROUP, 1, leaving("g", 1, {"memberId": "m"})),
    (apis.LEAVE_GROUP, 4, leaving("g", 4, {"memberId": "m", "groupInstanceId": None})),
    (apis.OFFSET_COMMIT, 8, committing("g", {"name": "t"}, {})),
    (apis.OFFSET_COMMIT, 8, committing("g", {"name": "orders"}, {})),
    (apis.OFFSET_FETCH, 5, {"groupId": "g", "topics": NUMBERS}),
    (apis.OFFSET_FETCH, 5, {"groupId": "g", "topics": None}),
    (apis.OFFSET_FETCH, 8, {"groups": [{"groupId": "g", "topics": NUMBERS}], "requireStable": True}),
    (apis.OFFSET_FETCH, 8, {"groups": [{"groupId": "g", "topics": None}], "requireStable": False}),
    (apis.DESCRIBE_GROUPS, 5, {"groups": ["g", "c"], "includeAuthorizedOperations": True}),
    (apis.LIST_GROUPS, 5, {"statesFilter": [], "typesFilter": []}),
    (apis.CONSUMER_GROUP_HEARTBEAT, 0, STRANGER),
    (apis.CONSUMER_GROUP_HEARTBEAT, 1, {**STRANGER, "subscribedTopicNames": ["t"]}),
    (apis.CONSUMER_GROUP_HEARTBEAT, 1, {**STRANGER, "subscribedTopicNames": ["t", "orders", "missing"]}),
    (apis.CONSUMER_GROUP_HEARTBEAT, 1, {**STRANGER, "subscribedTopicRegex": ".*"}),
    (apis.CONSUMER_GROUP_DESCRIBE, 1, {"groupIds": ["c", "g", ""], "includeAuthorizedOperations": True}),
    (apis.DESCRIBE_CONFIGS, 4, {"resources": [{"resourceType": 32, "resourceName": "c",
        "configurationKeys": ["consumer.session.timeout.ms"]}]}),
    *((apis.INCREMENTAL_ALTER_CONFIGS, 1, {"validateOnly": True, "resources": [{"resourceType": 32,
        "resourceName": name, "configs": [{"name": "consumer.session.timeout.ms", "configOperation": 0,
                                           "value": value}]}]})
      for name, value in (("c", "50000"), ("c", "x"), ("", "1"))),
    (apis.ALTER_CONFIGS, 2, {"validateOnly": True, "resources": [{"resourceType": 32, "resourceName": "c",
        "configs": []}]}),
    (apis.OFFSET_DELETE, 0, {"groupId": "g", "topics": PLACES}),
    (apis.DELETE_GROUPS, 2, {"groupsNames": ["g", "c"]}),
]  # fmt: skip
OPERATIONS = [
    Operation.ALL,
    Operation.READ,
    Operation.WRITE,
    Operation.DESCRIBE,
    Operation.DELETE,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
]


@pytest.fixture(autouse=True)
def _watched(acl_twin: AclTwin) -> Iterator[None]:
    """A consumer group "c" with a member that has partitions, and a group "g" with committed offsets."""
    acl_twin.wait_for_coordinators()
    joined = {**WATCHER, "memberEpoch": 0, "subscribedTopicNames": ["t"]}
    acl_twin.eventually(apis.CONSUMER_GROUP_HEARTBEAT, 1, joined, 0)  # a new coordinator loads its partition first
    acl_twin.ask(apis.OFFSET_COMMIT, 8, committing("g", {"name": "t"}, {}))
    acl_twin.ask(apis.OFFSET_COMMIT, 8, committing("g", {"name": "orders"}, {}))
    yield
    acl_twin.user = "admin"
    acl_twin.ask(apis.CONSUMER_GROUP_HEARTBEAT, 1, {**WATCHER, "memberEpoch": -1})
    acl_twin.ask(apis.DELETE_GROUPS, 2, {"groupsNames": ["g", "c"]})


def test_what_is_refused_without_acls(acl_twin: AclTwin) -> None:
    acl_twin.ask_all(ASKED)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_an_operation_on_a_group_allows(acl_twin: AclTwin, operation: Operation) -> None:
    acl_twin.add(acl(ResourceType.GROUP, "g", operation), acl(ResourceType.GROUP, "c", operation))
    acl_twin.ask_all(ASKED)
    acl_twin.add(acl(ResourceType.TOPIC, "t", Operation.DESCRIBE))
    acl_twin.ask_all(ASKED)
    acl_twin.add(acl(ResourceType.TOPIC, "t", Operation.READ), acl(ResourceType.TOPIC, "orders", Operation.READ))
    acl_twin.ask_all(ASKED)


@pytest.mark.parametrize("operation", [Operation.DESCRIBE, Operation.ALTER])
def test_what_an_operation_on_the_cluster_allows(acl_twin: AclTwin, operation: Operation) -> None:
    acl_twin.add(acl(ResourceType.CLUSTER, CLUSTER_NAME, operation))
    acl_twin.ask_all(ASKED)
