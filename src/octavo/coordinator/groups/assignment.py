"""The types of assignors' arguments and results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from octavo.format.names import TopicPartition

Subscriptions = Mapping[str, frozenset[str]]  # the topics of each member; some of them may not exist
PartitionNumbers = Mapping[str, Sequence[int]]  # the partition numbers of each topic, in order
GroupAssignment = dict[str, list[TopicPartition]]  # the partitions of each member
Current = Mapping[str, Sequence[TopicPartition]]  # the same, before the new assignment
TopicIds = Mapping[str, bytes]
