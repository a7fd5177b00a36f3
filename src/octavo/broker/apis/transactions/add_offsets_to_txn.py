"""AddOffsetsToTxn: adds the partition that holds a group's offsets to a transaction."""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.errors import producer_error
from octavo.broker.request import Answer, Request
from octavo.broker.security.acls import Operation
from octavo.coordinator.internal_topics import CONSUMER_OFFSETS
from octavo.coordinator.transactions.machine import Identity
from octavo.coordinator.transactions.metadata import VERSION_1
from octavo.format.messages.partition_choice import coordinator_partition
from octavo.format.names import TopicPartition

_FENCED_FROM_VERSION = 2


def handle(request: Request, context: Context) -> Answer:
    body = request.body
    context.check_transactional_id(request.client, Operation.WRITE, body["transactionalId"])
    context.check_member(request.client, body["groupId"])
    by = Identity(body["producerId"], body["producerEpoch"])
    partitions = frozenset((offsets_partition(context, body["groupId"]),))
    error = context.transactions.add_partitions(body["transactionalId"], by, partitions, VERSION_1)
    return {"errorCode": producer_error(error, knows_fenced=request.version >= _FENCED_FROM_VERSION)}


def offsets_partition(context: Context, group: str) -> TopicPartition:
    """The partition of `__consumer_offsets` that holds a group, or will hold it."""
    known = context.catalog.topics.get(CONSUMER_OFFSETS)
    count = context.config.offsets_topic_num_partitions if known is None else max(known.logs) + 1
    return TopicPartition(CONSUMER_OFFSETS, coordinator_partition(group, count))
