"""What handlers have access to."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from octavo.broker.catalog import Catalog, Topic
from octavo.broker.errors import RequestError
from octavo.broker.quotas.store import QuotaStore
from octavo.broker.security.acls import Operation, ResourceType
from octavo.broker.security.authorizer import Authorizer
from octavo.broker.security.principals import Client
from octavo.broker.security.store import SecurityStore
from octavo.broker.sessions import FetchSessions
from octavo.broker.verifications import Verifications
from octavo.client.log_dir import LogDir
from octavo.config import BrokerConfig
from octavo.coordinator.groups.coordinator import GroupCoordinator
from octavo.coordinator.transactions.coordinator import TransactionCoordinator
from octavo.coordinator.transactions.producer_ids import ProducerIds
from octavo.errors import UnknownTopicOrPartitionError
from octavo.format.names import topic_problem
from octavo.format.protocol.error_codes import ErrorCode
from octavo.storage.partition_log import PartitionLog

NO_EPOCH = -1
_CHANGES = (Operation.WRITE, Operation.CREATE, Operation.DELETE, Operation.ALTER, Operation.ALTER_CONFIGS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The log directories, and everything else that handlers use: on the loop's thread or, in a `Later`, on another."""

    log_dir: LogDir
    catalog: Catalog
    producer_ids: ProducerIds
    transactions: TransactionCoordinator
    groups: GroupCoordinator
    sessions: FetchSessions
    verifications: Verifications
    node_id: int
    cluster_id: str
    loop: asyncio.AbstractEventLoop
    security: SecurityStore
    authorizer: Authorizer
    quotas: QuotaStore
    is_read_only: bool = False

    @property
    def config(self) -> BrokerConfig:
        """The broker's configs as they are now."""
        return self.log_dir.broker_config

    def topic(self, client: Client, operation: Operation, topic: str | bytes) -> Topic:
        """A topic by its name or id; RequestError if the client may not perform the operation on it.

        A client that names a topic gets that error even if the topic does not exist.
        """
        name = topic if isinstance(topic, str) else self.catalog.with_id(topic).name
        if self.authorizer.enabled and not self.authorizer.allows_topic(client, operation, name):
            raise RequestError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        if self.is_read_only:
            self.check_writable(operation)
        return self.catalog.named(name)

    def named_topic(self, client: Client, operation: Operation, name: str) -> Topic:
        """Like `topic`, but raises a different error for a name that no topic can have."""
        try:
            return self.topic(client, operation, name)
        except UnknownTopicOrPartitionError:
            problem = topic_problem(name)
            if problem is None:
                raise
            raise RequestError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}") from None

    def check_cluster(self, client: Client, operation: Operation) -> None:
        """Raise RequestError unless the client may perform the operation on the cluster."""
        if not self.authorizer.allows_cluster(client, operation):
            raise RequestError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        self.check_writable(operation)

    def allows_transactional_id(self, client: Client, operation: Operation, transactional_id: str) -> bool:
        return self.authorizer.allows(client, operation, ResourceType.TRANSACTIONAL_ID, transactional_id)

    def check_transactional_id(self, client: Client, operation: Operation, transactional_id: str) -> None:
        """Raise RequestError unless the client may perform the operation on the transactional id."""
        if not self.allows_transactional_id(client, operation, transactional_id):
            raise RequestError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)

    def check_group(self, client: Client, operation: Operation, group_id: str) -> None:
        """Raise RequestError unless the client may perform the operation on the group."""
        if not self.authorizer.allows(client, operation, ResourceType.GROUP, group_id):
            raise RequestError(ErrorCode.GROUP_AUTHORIZATION_FAILED)

    def check_member(self, client: Client, group_id: str) -> None:
        """Raise RequestError unless the client may be a member of the group, and commit its offsets."""
        self.check_group(client, Operation.READ, group_id)
        self.check_writable(Operation.WRITE)

    def check_writable(self, operation: Operation) -> None:
        """Raise RequestError if the broker is read-only and the operation would change something."""
        if self.is_read_only and operation in _CHANGES:
            raise RequestError(
                ErrorCode.POLICY_VIOLATION,
                "This broker is read-only: it serves another broker's files without changing them.",
            )


def check_leader_epoch(log: PartitionLog, current_leader_epoch: int) -> None:
    """Refuse a client whose leader epoch differs from the log's."""
    if current_leader_epoch == NO_EPOCH:
        return
    if current_leader_epoch < log.leader_epoch:
        raise RequestError(ErrorCode.FENCED_LEADER_EPOCH)
    if current_leader_epoch > log.leader_epoch:
        raise RequestError(ErrorCode.UNKNOWN_LEADER_EPOCH)
