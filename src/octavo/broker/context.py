"""What handlers have access to."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from octavo.broker.catalog import Catalog, Topic
from octavo.broker.errors import RequestError
from octavo.broker.sessions import FetchSessions
from octavo.client.log_dir import LogDir
from octavo.config import BrokerConfig
from octavo.coordinator.transactions.producer_ids import ProducerIds
from octavo.format.protocol.error_codes import ErrorCode
from octavo.storage.partition_log import PartitionLog

NO_EPOCH = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The log directories, and what else the broker knows. Handlers run only on the loop's thread."""

    logs: LogDir
    catalog: Catalog
    producer_ids: ProducerIds
    sessions: FetchSessions
    node_id: int
    cluster_id: str
    config: BrokerConfig
    loop: asyncio.AbstractEventLoop

    def topic(self, name: str | None, topic_id: bytes, *, by_id: bool) -> Topic:
        """The topic that a request means: by name in old versions, by id in new ones."""
        return self.catalog.with_id(topic_id) if by_id else self.catalog.named(name or "")


def check_leader_epoch(log: PartitionLog, current_leader_epoch: int) -> None:
    """Refuse a client whose leader epoch differs from the log's."""
    if current_leader_epoch == NO_EPOCH:
        return
    if current_leader_epoch < log.leader_epoch:
        raise RequestError(ErrorCode.FENCED_LEADER_EPOCH)
    if current_leader_epoch > log.leader_epoch:
        raise RequestError(ErrorCode.UNKNOWN_LEADER_EPOCH)
