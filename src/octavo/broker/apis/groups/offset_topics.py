"""Requests that commit or delete offsets: which partitions can be used, and the answer with the error of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from octavo.broker.catalog import Topic
from octavo.broker.context import Context
from octavo.broker.errors import code_of
from octavo.broker.request import Request
from octavo.broker.rows import topic_rows
from octavo.broker.security.acls import Operation
from octavo.coordinator.groups.committed import NewOffsets, NullableTopicIds
from octavo.coordinator.groups.offsets import OffsetAndMetadata
from octavo.coordinator.groups.store import failure_code
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row
from octavo.format.names import TopicPartition
from octavo.format.protocol.error_codes import ErrorCode

Commit = Callable[[NewOffsets, NullableTopicIds], Iterable[TopicPartition]]  # returns those whose metadata is too long


class NamedPartition(NamedTuple):
    """A partition of a request: its name, or the error code if it cannot be used."""

    row: Row
    topic_partition: TopicPartition | None
    error: int = 0


class NamedTopic(NamedTuple):
    """A topic of a request, by id or by name."""

    row: Row
    partitions: list[NamedPartition]


def named_topics(request: Request, context: Context, key: str) -> list[NamedTopic]:
    """The topics of a request; the client must be allowed to read them. As in Kafka, an existing topic is left out if
    the request names none of its partitions."""
    named = []
    for row in request.body["topics"]:
        try:
            topic = context.topic(request.client, Operation.READ, row[key])
        except OctavoError as error:
            named.append(NamedTopic(row, [NamedPartition(one, None, code_of(error)) for one in row["partitions"]]))
        else:
            if row["partitions"]:
                named.append(NamedTopic(row, [_partition(topic, one) for one in row["partitions"]]))
    return named


def _partition(topic: Topic, row: Row) -> NamedPartition:
    try:
        topic.log(row["partitionIndex"])
    except OctavoError as error:
        return NamedPartition(row, None, code_of(error))
    return NamedPartition(row, TopicPartition(topic.name, row["partitionIndex"]))


def usable(topics: Iterable[NamedTopic]) -> dict[TopicPartition, Row]:
    """The rows of the partitions that exist and that the client may read."""
    return {
        one.topic_partition: one.row for topic in topics for one in topic.partitions if one.topic_partition is not None
    }


def answered(topics: Iterable[NamedTopic], key: str, errors: Mapping[TopicPartition, int]) -> list[Row]:
    """A response's topics, with the error of each partition; as in Kafka, what cannot be used comes first."""
    return [
        {
            key: topic.row[key],
            "partitions": [
                {
                    "partitionIndex": one.row["partitionIndex"],
                    "errorCode": one.error if one.topic_partition is None else errors.get(one.topic_partition, 0),
                }
                for one in sorted(topic.partitions, key=_is_usable)
            ],
        }
        for topic in sorted(topics, key=lambda topic: all(map(_is_usable, topic.partitions)))
    ]


def refused(request: Request, key: str, code: int) -> Row:
    """The answer to a commit that is refused as a whole."""
    topics = topic_rows(
        request.body["topics"], key, lambda _, row: {"partitionIndex": row["partitionIndex"], "errorCode": code}
    )
    return {"topics": topics}


def committed(request: Request, context: Context, key: str, commit: Commit) -> Row:
    """Commit the offsets of the partitions that can be used; returns the answer."""
    topics = named_topics(request, context, key)
    wanted = usable(topics)
    offsets = {
        topic_partition: OffsetAndMetadata(
            row["committedOffset"], row["committedMetadata"] or "", row["committedLeaderEpoch"]
        )
        for topic_partition, row in wanted.items()
    }
    ids = {topic_partition.topic: context.catalog.named(topic_partition.topic).topic_id for topic_partition in wanted}
    try:
        too_long = commit(offsets, ids) if wanted else ()
        errors = dict.fromkeys(too_long, ErrorCode.OFFSET_METADATA_TOO_LARGE)
    except OctavoError as error:
        errors = dict.fromkeys(wanted, failure_code(error))
    return {"topics": answered(topics, key, errors)}


def _is_usable(partition: NamedPartition) -> bool:
    return partition.topic_partition is not None
