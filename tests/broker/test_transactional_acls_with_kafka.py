"""Who may use a transactional id: the same requests to a real Kafka 4.3.1 with its authorizer, and to ours."""

from __future__ import annotations

import pytest

from octavo.broker.security.acls import CLUSTER_NAME, Operation, ResourceType
from octavo.format.batches.batch import Origin
from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from octavo.format.protocol.apis import Api
from tests.broker.acl_twin import AclTwin, acl
from tests.broker.requests import batch, produced

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("broker")]

NOBODY = {"producerId": 1 << 40, "producerEpoch": 0}
OLD_NOBODY = {"v3AndBelowProducerId": 1 << 40, "v3AndBelowProducerEpoch": 0}
ORIGIN = Origin(producer_id=1 << 40, producer_epoch=0, base_sequence=0, is_transactional=True)
TOPICS = [{"name": "t", "partitions": [0]}]
OFFSETS = [{"name": "t", "partitions": [{"partitionIndex": 0, "committedOffset": 1, "committedMetadata": None}]}]
ASKED: list[tuple[Api, int, Row]] = [
    (apis.INIT_PRODUCER_ID, 4, {"transactionalId": "x", "transactionTimeoutMs": 60_000}),
    (apis.ADD_PARTITIONS_TO_TXN, 3, {"v3AndBelowTransactionalId": "x", **OLD_NOBODY, "v3AndBelowTopics": TOPICS}),
    (apis.ADD_PARTITIONS_TO_TXN, 4, {"transactions": [
        {"transactionalId": "x", **NOBODY, "verifyOnly": True, "topics": TOPICS}]}),
    (apis.ADD_OFFSETS_TO_TXN, 3, {"transactionalId": "x", **NOBODY, "groupId": "g"}),
    (apis.TXN_OFFSET_COMMIT, 3, {"transactionalId": "x", **NOBODY, "groupId": "g", "topics": OFFSETS}),
    (apis.END_TXN, 4, {"transactionalId": "x", **NOBODY, "committed": True}),
    (apis.END_TXN, 5, {"transactionalId": "x", **NOBODY, "committed": True}),
    (apis.PRODUCE, 9, {**produced("t", 0, batch("x", origin=ORIGIN)), "transactionalId": "x"}),
    (apis.PRODUCE, 12, {**produced("t", 0, batch("x", origin=ORIGIN)), "transactionalId": "x"}),
    (apis.DESCRIBE_TRANSACTIONS, 0, {"transactionalIds": ["x"]}),
    (apis.LIST_TRANSACTIONS, 0, {"stateFilters": [], "producerIdFilters": []}),
    (apis.WRITE_TXN_MARKERS, 1, {"markers": [{**NOBODY, "transactionResult": True, "coordinatorEpoch": 0,
                                              "topics": [{"name": "t", "partitionIndexes": [9]}]}]}),
    (apis.FIND_COORDINATOR, 3, {"key": "x", "keyType": 1}),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _coordinators(acl_twin: AclTwin) -> None:
    acl_twin.wait_for_coordinators()


def test_what_is_answered_without_acls(acl_twin: AclTwin) -> None:
    acl_twin.ask_all(ASKED)


@pytest.mark.parametrize("operation", [Operation.ALL, Operation.READ, Operation.WRITE, Operation.DESCRIBE])
def test_what_an_operation_on_a_transactional_id_allows(acl_twin: AclTwin, operation: Operation) -> None:
    acl_twin.add(acl(ResourceType.TRANSACTIONAL_ID, "x", operation))
    acl_twin.ask_all(ASKED)
    acl_twin.add(acl(ResourceType.TOPIC, "t", Operation.WRITE))
    acl_twin.ask_all(ASKED)
    acl_twin.add(acl(ResourceType.TOPIC, "t", Operation.READ), acl(ResourceType.GROUP, "g", Operation.READ))
    acl_twin.ask_all(ASKED)


@pytest.mark.parametrize("operation", [Operation.CLUSTER_ACTION, Operation.ALTER])
def test_what_an_operation_on_the_cluster_allows(acl_twin: AclTwin, operation: Operation) -> None:
    acl_twin.add(acl(ResourceType.CLUSTER, CLUSTER_NAME, operation))
    acl_twin.ask_all(ASKED)
