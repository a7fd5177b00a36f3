"""OffsetFetch: says how far groups have read."""

from __future__ import annotations

from collections.abc import Iterable

from octavo.broker.catalog import UnknownTopicIdError
from octavo.broker.context import Context
from octavo.broker.errors import RequestError
from octavo.broker.request import Request, later
from octavo.broker.security.acls import Operation
from octavo.coordinator.groups.committed import FetchedOffsets
from octavo.coordinator.groups.offsets import NO_TOPIC_ID
from octavo.coordinator.groups.store import failure_code
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row
from octavo.format.names import TopicPartition, by_topic
from octavo.format.protocol.error_codes import ErrorCode

_ERROR_FROM_VERSION = 2
_SEVERAL_FROM_VERSION = 8
_IDS_FROM_VERSION = 10
_NOTHING: Row = {"committedOffset": -1, "committedLeaderEpoch": -1, "metadata": ""}


@later
def handle(request: Request, context: Context) -> Row:
    body = request.body
    if request.version >= _SEVERAL_FROM_VERSION:
        return {"groups": [_Group(request, context, group).answer() for group in body["groups"]]}
    asked = {"groupId": body["groupId"], "topics": body["topics"], "memberId": None, "memberEpoch": -1}
    row = _Group(request, context, asked).answer()
    code = row.get("errorCode", 0)
    if code and request.version < _ERROR_FROM_VERSION:
        return {"topics": [_failed(topic, "name", code) for topic in body["topics"] or ()]}
    return {"errorCode": code, "topics": row["topics"]}


class _Group:
    """One group of a request."""

    def __init__(self, request: Request, context: Context, asked: Row) -> None:
        self._request = request
        self._context = context
        self._asked = asked
        self._key = "topicId" if request.version >= _IDS_FROM_VERSION else "name"

    def answer(self) -> Row:
        asked, context = self._asked, self._context
        row: Row = {"groupId": asked["groupId"], "topics": []}
        try:
            context.check_group(self._request.client, Operation.DESCRIBE, asked["groupId"])
            found = context.groups.offsets.fetch(asked["groupId"], asked["memberId"], asked["memberEpoch"])
        except OctavoError as error:
            return {**row, "errorCode": failure_code(error)}
        topics = self._all(found) if asked["topics"] is None else asked["topics"]
        return {**row, "topics": [shown for topic in topics if (shown := self._topic(topic, found)) is not None]}

    def _all(self, found: FetchedOffsets) -> Iterable[Row]:
        """All topics with offsets, as if the client had asked for them."""
        known = self._context.catalog.topics
        for topic, partitions in by_topic(found.committed).items():
            topic_id = known[topic].topic_id if topic in known else NO_TOPIC_ID
            yield {"name": topic, "topicId": topic_id, "partitionIndexes": partitions}

    def _topic(self, topic: Row, found: FetchedOffsets) -> Row | None:
        """The offsets of a topic. A topic that the client did not name is shown only if the client may see it."""
        try:
            name = self._name(topic)
        except (RequestError, UnknownTopicIdError) as error:
            is_asked = self._asked["topics"] is not None
            return _failed(topic, self._key, error.code) if is_asked else None
        topic_id = topic["topicId"] if self._key == "topicId" else NO_TOPIC_ID
        rows = [
            {"partitionIndex": partition, **self._offset(TopicPartition(name, partition), topic_id, found)}
            for partition in topic["partitionIndexes"]
        ]
        return {self._key: topic[self._key], "partitions": rows}

    def _name(self, topic: Row) -> str:
        context, by_id = self._context, self._key == "topicId"
        name: str = context.catalog.with_id(topic["topicId"]).name if by_id else topic["name"]
        if not context.authorizer.allows_topic(self._request.client, Operation.DESCRIBE, name):
            raise RequestError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        return name

    def _offset(self, topic_partition: TopicPartition, topic_id: bytes, found: FetchedOffsets) -> Row:
        if self._request.body["requireStable"] and topic_partition in found.unstable:
            return {**_NOTHING, "errorCode": ErrorCode.UNSTABLE_OFFSET_COMMIT}
        committed = found.committed.get(topic_partition)
        if committed is None or not committed.is_of(topic_id):
            return _NOTHING
        return {
            "committedOffset": committed.offset,
            "committedLeaderEpoch": committed.leader_epoch,
            "metadata": committed.metadata,
        }


def _failed(topic: Row, key: str, code: int) -> Row:
    rows = [{**_NOTHING, "partitionIndex": number, "errorCode": code} for number in topic["partitionIndexes"]]
    return {key: topic[key], "partitions": rows}
