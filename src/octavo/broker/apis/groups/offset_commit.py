"""OffsetCommit: stores how far a group has read."""

from __future__ import annotations

from octavo.broker.apis.groups.offset_topics import answered, named_topics, usable
from octavo.broker.context import Context
from octavo.broker.errors import RequestError
from octavo.broker.request import Answer, Request
from octavo.coordinator.groups.commit_rules import Committer
from octavo.coordinator.groups.offsets import OffsetAndMetadata
from octavo.coordinator.groups.store import failure_code
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row
from octavo.format.names import TopicPartition
from octavo.format.protocol.error_codes import ErrorCode

_IDS_FROM_VERSION = 10


def handle(request: Request, context: Context) -> Answer:
    body = request.body
    by_id = request.version >= _IDS_FROM_VERSION
    key = "topicId" if by_id else "name"
    try:
        context.check_member(request.client, body["groupId"])
    except RequestError as error:
        return {"topics": [_refused(topic, key, error.code) for topic in body["topics"]]}
    topics = named_topics(request, context, by_id=by_id)
    wanted = usable(topics)
    errors = _commit(request, context, wanted) if wanted else {}
    return {"topics": answered(topics, key, errors)}


def _commit(request: Request, context: Context, wanted: dict[TopicPartition, Row]) -> dict[TopicPartition, int]:
    """Commit the offsets; returns the error codes of the partitions for which that failed."""
    body = request.body
    committer = Committer(body["memberId"], body["groupInstanceId"], body["generationIdOrMemberEpoch"], request.version)
    offsets = {
        place: OffsetAndMetadata(row["committedOffset"], row["committedMetadata"] or "", row["committedLeaderEpoch"])
        for place, row in wanted.items()
    }
    ids = {place.topic: context.catalog.named(place.topic).topic_id for place in wanted}
    try:
        refused = context.groups.offsets.commit(body["groupId"], offsets, ids, committer, body["retentionTimeMs"])
    except OctavoError as error:
        return dict.fromkeys(wanted, failure_code(error))
    return dict.fromkeys(refused, ErrorCode.OFFSET_METADATA_TOO_LARGE)


def _refused(topic: Row, key: str, code: int) -> Row:
    rows = [{"partitionIndex": row["partitionIndex"], "errorCode": code} for row in topic["partitions"]]
    return {key: topic[key], "partitions": rows}
