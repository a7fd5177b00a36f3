"""Who may commit, fetch or delete the offsets of a group, and when offsets expire."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from octavo.coordinator.errors import RequestError
from octavo.coordinator.groups.classic.group import ClassicGroup, ClassicState
from octavo.coordinator.groups.consumer.group import ConsumerGroup, Member
from octavo.coordinator.groups.consumer.topics import TopicIdPartition
from octavo.coordinator.groups.kinds import Group, is_empty
from octavo.coordinator.groups.offsets import NO_TIMESTAMP, GroupOffsets, StoredOffset
from octavo.format.names import TopicPartition
from octavo.format.protocol.error_codes import ErrorCode

_NOT_FOUND_FROM_VERSION = 9
_EPOCHS_FROM_VERSION = 9  # of OffsetCommit; earlier versions have generations instead


class Committer(NamedTuple):
    """Who commits. By default, somebody outside the group: an administrator, or a consumer without a subscription."""

    member_id: str = ""
    instance_id: str | None = None
    generation: int = -1
    version: int = _NOT_FOUND_FROM_VERSION
    is_transactional: bool = False


ANYBODY = Committer()


def check_commit(group: Group | None, committer: Committer, offsets: GroupOffsets) -> None:
    """Raise unless these offsets may be committed."""
    if isinstance(group, ConsumerGroup):
        _check_consumer(group, committer, offsets)
    else:
        _check_classic(group, committer)


def check_offset_fetch(group: Group | None, member_id: str | None, member_epoch: int) -> None:
    """Raise unless the offsets may be fetched: whoever claims to be a member of a consumer group has to be one, in its
    current epoch."""
    if not isinstance(group, ConsumerGroup) or (member_id is None and member_epoch < 0):
        return
    member = group.member(member_id or "")
    if member_epoch != member.member_epoch:
        problem = f"The received {_epoch_name(member)} {member_epoch} does not match the expected member epoch"
        raise _stale(member, f"{problem} {member.member_epoch}.")


def _check_consumer(group: ConsumerGroup, committer: Committer, offsets: GroupOffsets) -> None:
    """A member commits in its current epoch; in an earlier one only for partitions that it had by then and has not
    given up yet. If one partition is refused, the whole request fails."""
    if committer is ANYBODY:  # a caller in this process
        return
    try:
        member = _outdated_member(group, committer)
        if member is not None:
            for topic_partition, committed in offsets.items():
                _check_partition(member, committer.generation, topic_partition, committed.topic_id)
    except RequestError as error:
        if error.code == ErrorCode.STALE_MEMBER_EPOCH and committer.is_transactional:
            raise RequestError(ErrorCode.ILLEGAL_GENERATION) from None
        raise


def _outdated_member(group: ConsumerGroup, committer: Committer) -> Member | None:
    """The member that commits in an earlier epoch; None if it may commit for any partition. Raises if it may not commit
    at all."""
    member_id, instance_id, epoch, version, is_transactional = committer
    if epoch < 0 and not group.members:
        return None
    if is_transactional and epoch == -1 and not member_id and instance_id is None:
        return None
    member = group.member(member_id)
    if not is_transactional and member.classic is None and version < _EPOCHS_FROM_VERSION:
        raise RequestError(
            ErrorCode.UNSUPPORTED_VERSION,
            "OffsetCommit version 9 or above must be used by members using the consumer group protocol",
        )
    if epoch > member.member_epoch:
        problem = f"Received {_epoch_name(member)} {epoch} is newer than current member epoch {member.member_epoch}."
        raise _stale(member, problem)
    return None if epoch == member.member_epoch else member


def _check_partition(member: Member, epoch: int, topic_partition: TopicPartition, topic_id: bytes) -> None:
    """Refuse a partition that the member got after the epoch of its request, or does not have."""
    place = TopicIdPartition(topic_id, topic_partition.partition)
    since = member.assigned.get(place, member.revoking.get(place))
    if since is None:
        raise _stale(member, f"Partition {topic_partition} is not assigned or pending revocation for member.")
    if epoch < since:
        problem = f"Received {_epoch_name(member)} {epoch} is older than assignment epoch {since} for partition"
        raise _stale(member, f"{problem} {topic_partition}.")


def _stale(member: Member, problem: str) -> RequestError:
    """The answer to an outdated member, in the words of its protocol."""
    is_classic = member.classic is not None
    return RequestError(ErrorCode.ILLEGAL_GENERATION if is_classic else ErrorCode.STALE_MEMBER_EPOCH, problem)


def _epoch_name(member: Member) -> str:
    return "member epoch" if member.classic is None else "generation id"


def _check_classic(group: ClassicGroup | None, committer: Committer) -> None:
    generation = committer.generation
    if group is None:
        if generation >= 0:
            is_known = committer.version >= _NOT_FOUND_FROM_VERSION and not committer.is_transactional
            raise RequestError(ErrorCode.GROUP_ID_NOT_FOUND if is_known else ErrorCode.ILLEGAL_GENERATION)
        return
    if generation < 0 and group.state is ClassicState.EMPTY:
        return
    if generation >= 0 or committer.member_id or committer.instance_id is not None:
        group.check_member(committer.member_id, committer.instance_id, generation)
    elif not committer.is_transactional:
        raise RequestError(
            ErrorCode.UNKNOWN_MEMBER_ID, f"group {group.group_id} has members, and only they may commit its offsets"
        )
    if group.state is ClassicState.COMPLETING_REBALANCE and not committer.is_transactional:
        raise RequestError(ErrorCode.REBALANCE_IN_PROGRESS)


def check_offset_deletion(group: Group | None) -> None:
    """Raise unless individual offsets of the group may be deleted."""
    if group is None:
        raise RequestError(ErrorCode.GROUP_ID_NOT_FOUND)
    if isinstance(group, ClassicGroup) and not is_empty(group) and not group.uses_consumer_protocol:
        raise RequestError(ErrorCode.NON_EMPTY_GROUP)


def check_deletion(group: Group | None) -> None:
    """Raise unless the group may be deleted."""
    if group is None:
        raise RequestError(ErrorCode.GROUP_ID_NOT_FOUND)
    if not is_empty(group):
        raise RequestError(ErrorCode.NON_EMPTY_GROUP)


def expired(
    group: Group, offsets: GroupOffsets, pending: Collection[TopicPartition], now_ms: int, retention_ms: int
) -> list[TopicPartition]:
    """The partitions whose offsets have been kept long enough.

    A group keeps the offsets of topics that its members subscribe to; a classic group with members keeps all, unless it
    is stable and its subscriptions are known. The time runs from the commit, or from the moment when a classic group
    that had members became empty. An offset that names its own expiry time, as old clients could, expires then.
    """
    since_ms = NO_TIMESTAMP if isinstance(group, ConsumerGroup) else _unused_since(group)
    if since_ms is None:
        return []
    return [
        partition
        for partition, committed in offsets.items()
        if partition not in pending
        and not group.is_subscribed_to(partition.topic)
        and _is_over(committed, since_ms, now_ms, retention_ms)
    ]


def _unused_since(group: ClassicGroup) -> int | None:
    """Since when offsets are unused: NO_TIMESTAMP means since their commit, None that they are in use."""
    is_stable_consumer = group.uses_consumer_protocol and group.subscribed_topics is not None
    if not is_empty(group) and not (is_stable_consumer and group.state is ClassicState.STABLE):
        return None
    return group.state_since_ms if is_empty(group) and group.protocol_type is not None else NO_TIMESTAMP


def _is_over(committed: StoredOffset, since_ms: int, now_ms: int, retention_ms: int) -> bool:
    if committed.expire_timestamp != NO_TIMESTAMP:
        return now_ms >= committed.expire_timestamp
    return now_ms - (committed.commit_timestamp if since_ms == NO_TIMESTAMP else since_ms) >= retention_ms
