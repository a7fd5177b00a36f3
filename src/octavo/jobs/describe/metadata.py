"""What a node's own metadata log, `__cluster_metadata-0`, says about features and replicas."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from octavo.format.messages.records import MetadataRecord
from octavo.format.messages.schema import Row
from octavo.format.names import TopicPartition

_TOPIC, _PARTITION, _PARTITION_CHANGE, _REMOVE_TOPIC, _FEATURE_LEVEL = 2, 3, 5, 9, 12  # record types
_SAME_LEADER = -2


class PartitionReplicas(NamedTuple):
    """Where a partition's replicas are, by node id; leader -1 means that there is none."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int


@dataclass(slots=True)
class ClusterMetadata:
    """The cluster according to its metadata log, as far as that can be read on this disk."""

    features: dict[str, int] = field(default_factory=dict)  # their levels, such as metadata.version
    replicas: dict[TopicPartition, PartitionReplicas] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Iterable[MetadataRecord]) -> ClusterMetadata:
        """The state that results from the records, in offset order."""
        metadata = cls()
        topics: dict[bytes, str] = {}
        for record in records:
            data, kind = record.data, record.type.id
            if kind == _TOPIC:
                topics[data["topicId"]] = data["name"]
            elif kind == _FEATURE_LEVEL:
                metadata.features[data["name"]] = data["featureLevel"]
            elif kind == _REMOVE_TOPIC and (removed := topics.pop(data["topicId"], None)) is not None:
                kept = {name: found for name, found in metadata.replicas.items() if name.topic != removed}
                metadata.replicas = kept
            elif kind in (_PARTITION, _PARTITION_CHANGE) and data["topicId"] in topics:
                metadata._place(TopicPartition(topics[data["topicId"]], data["partitionId"]), data)
        return metadata

    def _place(self, topic_partition: TopicPartition, row: Row) -> None:
        """Apply a record that says where a partition is, or what has changed about that; null means no change."""
        before = self.replicas.get(topic_partition, PartitionReplicas((), (), -1))
        self.replicas[topic_partition] = PartitionReplicas(
            before.replicas if row["replicas"] is None else tuple(row["replicas"]),
            before.isr if row["isr"] is None else tuple(row["isr"]),
            before.leader if row["leader"] == _SAME_LEADER else row["leader"],
        )
