"""TxnOffsetCommit: stores offsets of a group, which take effect once the transaction is committed."""

from __future__ import annotations

from octavo.broker.apis.data.transactional_batches import Abilities, refused_partitions
from octavo.broker.apis.groups.offset_topics import committed, refused
from octavo.broker.apis.transactions.add_offsets_to_txn import offsets_partition
from octavo.broker.context import Context
from octavo.broker.errors import RequestError
from octavo.broker.request import Answer, Request
from octavo.broker.security.acls import Operation
from octavo.coordinator.groups.commit_rules import Committer
from octavo.coordinator.groups.committed import NewOffsets, NullableTopicIds
from octavo.coordinator.transactions.machine import Identity
from octavo.format.batches.batch import Origin
from octavo.format.names import TopicPartition
from octavo.format.protocol.error_codes import ErrorCode

_ABORTABLE_FROM_VERSION = 4
_ADDS_FROM_VERSION = 5


def handle(request: Request, context: Context) -> Answer:
    body = request.body
    try:
        context.check_transactional_id(request.client, Operation.WRITE, body["transactionalId"])
        context.check_member(request.client, body["groupId"])
    except RequestError as error:
        return refused(request, "name", error.code)
    committer = Committer(body["memberId"], body["groupInstanceId"], body["generationId"], request.version)
    by = Identity(body["producerId"], body["producerEpoch"])
    origin = Origin(producer_id=by.producer_id, producer_epoch=by.epoch, base_sequence=0, is_transactional=True)

    def commit(offsets: NewOffsets, ids: NullableTopicIds) -> set[TopicPartition]:
        _enlist(request, context, by)
        return context.groups.offsets.commit_transactional(body["groupId"], offsets, ids, origin, committer)

    return committed(request, context, "name", commit)


def _enlist(request: Request, context: Context, by: Identity) -> None:
    """Check that the group's partition is in the transaction, or add it for a newer client; raises if it is refused."""
    if not request.body["groupId"]:
        raise RequestError(ErrorCode.INVALID_GROUP_ID)
    place = offsets_partition(context, request.body["groupId"])
    log = context.catalog.named(place.topic).log(place.partition)
    abilities = Abilities(request.version >= _ABORTABLE_FROM_VERSION, request.version >= _ADDS_FROM_VERSION)
    batches = {place: (log, 0)}
    for error in refused_partitions(context, request.body["transactionalId"], by, batches, abilities).values():
        raise error
