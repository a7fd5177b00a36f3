"""Requests about committed offsets: commits, in transactions or not, and fetches."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import NamedTuple

from octavo.coordinator.errors import RequestError
from octavo.coordinator.groups.classic.group import ClassicGroup, ClassicState
from octavo.coordinator.groups.classic.transition import member_timer
from octavo.coordinator.groups.commit_rules import ANYBODY, Committer, check_commit, check_offset_fetch
from octavo.coordinator.groups.offsets import NO_TIMESTAMP, NO_TOPIC_ID, GroupOffsets, OffsetAndMetadata, StoredOffset
from octavo.coordinator.groups.partition import GroupPartition
from octavo.coordinator.groups.store import NO_PRODUCER, GroupStore
from octavo.format.batches.batch import Origin
from octavo.format.names import TopicPartition
from octavo.format.protocol.error_codes import ErrorCode
from octavo.system.clock import Clock

NO_RETENTION = -1  # the commit does not say how long to keep its offsets
NewOffsets = Mapping[TopicPartition, OffsetAndMetadata]
NullableTopicIds = Mapping[str, bytes | None]
Renew = Callable[[str, Hashable, int], None]


class FetchedOffsets(NamedTuple):
    """What a group has committed, and the partitions for which an open transaction has offsets of the group."""

    committed: dict[TopicPartition, StoredOffset]
    unstable: set[TopicPartition]


class CommittedOffsets:
    """Commits are written to the log first, then to memory. Thread-safe."""

    def __init__(self, store: GroupStore, clock: Clock, max_metadata_bytes: int, renew: Renew) -> None:
        self._store = store
        self._clock = clock
        self._max_metadata = max_metadata_bytes
        self._renew = renew

    def partition_of(self, group_id: str) -> TopicPartition:
        """The partition of `__consumer_offsets` that holds a group's offsets; creates the topic if necessary."""
        return self._store.topic.place_of(group_id)

    def check_metadata(self, offsets: NewOffsets) -> None:
        """Raise if the metadata of any offset is too long, for callers that want to commit all of them or none."""
        for place in self._too_long(offsets):
            problem = f"the metadata for {place} is longer than offset.metadata.max.bytes, {self._max_metadata}"
            raise RequestError(ErrorCode.OFFSET_METADATA_TOO_LARGE, problem)

    def commit(
        self,
        group_id: str,
        offsets: NewOffsets,
        topic_ids: NullableTopicIds,
        committer: Committer = ANYBODY,
        retention_ms: int = NO_RETENTION,
    ) -> set[TopicPartition]:
        """Write a group's offsets as one batch (an OffsetCommit request).

        Returns the partitions that are left out because their metadata is too long; raises RequestError if none may be
        committed.
        """
        refused = self._too_long(offsets)
        with self._store.using(group_id, create=True) as partition:
            now_ms = self._clock.time_ms()
            expire_ms = NO_TIMESTAMP if retention_ms == NO_RETENTION else now_ms + retention_ms
            wanted = _committed(offsets, refused, topic_ids, now_ms, expire_ms)
            check_commit(partition.groups.get(group_id), committer, wanted)
            self._renew_session(partition, group_id, committer)
            for place, committed in self._write(partition, group_id, wanted):
                partition.offsets.put(group_id, place, committed)
            partition.add_simple_groups([group_id])
        return refused

    def commit_transactional(
        self,
        group_id: str,
        offsets: NewOffsets,
        topic_ids: NullableTopicIds,
        origin: Origin,
        committer: Committer = ANYBODY,
    ) -> set[TopicPartition]:
        """Write offsets that take effect once the transaction of the producer `origin` is committed (a TxnOffsetCommit
        request). Returns the partitions that are left out because their metadata is too long."""
        refused = self._too_long(offsets)
        with self._store.using(group_id, create=True) as partition:
            committer = committer._replace(is_transactional=True)
            wanted = _committed(offsets, refused, topic_ids, self._clock.time_ms(), NO_TIMESTAMP)
            check_commit(partition.groups.get(group_id), committer, wanted)
            for place, pending in self._write(partition, group_id, wanted, origin):
                partition.offsets.put_pending(origin.producer_id, group_id, place, pending)
            partition.add_simple_groups([group_id])
        return refused

    def fetch(self, group_id: str, member_id: str | None = None, member_epoch: int = -1) -> FetchedOffsets:
        """What a group has committed (an OffsetFetch request, perhaps from a member)."""
        with self._store.using(group_id) as partition:
            check_offset_fetch(partition.groups.get(group_id), member_id, member_epoch)
            return FetchedOffsets(dict(partition.offsets.of(group_id)), partition.offsets.pending(group_id))

    def committed(
        self, group_id: str, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """The offsets that a group has committed, for these partitions or for all."""
        found = self.fetch(group_id).committed
        wanted = found if partitions is None else partitions
        return {
            place: OffsetAndMetadata(found[place].offset, found[place].metadata, found[place].leader_epoch)
            for place in wanted
            if place in found
        }

    def _write(
        self, partition: GroupPartition, group_id: str, wanted: GroupOffsets, origin: Origin = NO_PRODUCER
    ) -> list[tuple[TopicPartition, StoredOffset]]:
        """Write offsets to the log; returns them with the offsets of their records."""
        writes = [committed.write(group_id, place) for place, committed in wanted.items()]
        first = self._store.append(partition, writes, origin) if writes else 0
        return [(place, wanted[place]._replace(record_offset=number)) for number, place in enumerate(wanted, first)]

    def _renew_session(self, partition: GroupPartition, group_id: str, committer: Committer) -> None:
        group, renewed_in = partition.groups.get(group_id), (ClassicState.STABLE, ClassicState.PREPARING_REBALANCE)
        if isinstance(group, ClassicGroup) and group.state in renewed_in:
            member = group.members[committer.member_id]
            self._renew(group_id, member_timer(member.member_id), member.session_timeout_ms)

    def _too_long(self, offsets: NewOffsets) -> set[TopicPartition]:
        return {place for place, offset in offsets.items() if len(offset.metadata) > self._max_metadata}


def _committed(
    offsets: NewOffsets, refused: set[TopicPartition], topic_ids: NullableTopicIds, now_ms: int, expire_ms: int
) -> GroupOffsets:
    return {
        place: StoredOffset(
            *(offset.offset, offset.metadata, offset.leader_epoch, now_ms, expire_ms),
            topic_ids.get(place.topic) or NO_TOPIC_ID,
        )
        for place, offset in offsets.items()
        if place not in refused
    }
