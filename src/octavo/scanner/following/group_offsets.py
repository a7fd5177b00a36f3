"""What a consumer group has committed, read from the files of `__consumer_offsets`."""

from __future__ import annotations

from collections.abc import Iterable

from octavo.errors import CorruptionError
from octavo.format.messages.consumer_offsets import CONSUMER_OFFSETS_TYPES, decode_consumer_offsets_record
from octavo.format.names import TopicPartition
from octavo.scanner.reading.records import ConsumerRecord

_OFFSET_COMMITS = {0, CONSUMER_OFFSETS_TYPES[1].id}  # the old and the current record type


def committed_offsets(records: Iterable[ConsumerRecord], group: str) -> dict[TopicPartition, int]:
    """The group's next offset in each partition.

    Records that cannot be decoded are skipped. Kafka skips only those of an unknown type, and fails at the others.
    """
    offsets: dict[TopicPartition, int] = {}
    for record in records:
        try:
            decoded = decode_consumer_offsets_record(record.key or b"", record.value)
        except CorruptionError:
            continue
        kind, fields = decoded.key
        if kind.id not in _OFFSET_COMMITS or fields["group"] != group:
            continue
        topic_partition = TopicPartition(fields["topic"], fields["partition"])
        if decoded.value is None:
            offsets.pop(topic_partition, None)
        else:
            offsets[topic_partition] = decoded.value.data["offset"]
    return offsets
