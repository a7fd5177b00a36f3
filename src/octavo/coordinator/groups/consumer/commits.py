"""Whether the sender of a request may commit or fetch offsets.

A member does so in its current epoch. In an earlier one it can only commit, and only for partitions that it had by then
and has not given up yet.
"""

from __future__ import annotations

from octavo.coordinator.errors import RequestError
from octavo.coordinator.groups.consumer.group import ConsumerGroup, Member
from octavo.coordinator.groups.consumer.topics import TopicIdPartition
from octavo.format.names import TopicPartition
from octavo.format.protocol.error_codes import ErrorCode

_EPOCHS_FROM_VERSION = 9  # of OffsetCommit; earlier versions have generations instead


class CommitCheck:
    """Checks the partitions of one commit; if one is refused, the whole request fails."""

    def __init__(self, member: Member | None = None, epoch: int = -1) -> None:
        self._member = member
        self._epoch = epoch

    def check(self, partition: TopicPartition, topic_id: bytes) -> None:
        """Refuse a partition that the member got after the epoch of its request, or does not have."""
        member = self._member
        if member is None:
            return
        place = TopicIdPartition(topic_id, partition.partition)
        since = member.assigned.get(place, member.revoking.get(place))
        if since is None:
            raise _stale(member, f"Partition {partition} is not assigned or pending revocation for member.")
        if self._epoch < since:
            raise _stale(
                member,
                f"Received {_epoch_name(member)} {self._epoch} is older than assignment epoch {since} for partition "
                f"{partition}.",
            )


def commit_check(
    group: ConsumerGroup,
    member_id: str,
    instance_id: str | None,
    epoch: int,
    *,
    version: int,
    is_transactional: bool = False,
) -> CommitCheck:
    """Raise if the sender may not commit at all; otherwise return the check for each partition."""
    if epoch < 0 and not group.members:
        return CommitCheck()
    if is_transactional and epoch == -1 and not member_id and instance_id is None:
        return CommitCheck()
    member = group.member(member_id)
    if not is_transactional and member.classic is None and version < _EPOCHS_FROM_VERSION:
        raise RequestError(
            ErrorCode.UNSUPPORTED_VERSION,
            "OffsetCommit version 9 or above must be used by members using the consumer group protocol",
        )
    if epoch == member.member_epoch:
        return CommitCheck()
    if epoch > member.member_epoch:
        problem = f"Received {_epoch_name(member)} {epoch} is newer than current member epoch {member.member_epoch}."
        raise _stale(member, problem)
    return CommitCheck(member, epoch)


def check_fetch(group: ConsumerGroup, member_id: str | None, epoch: int) -> None:
    """Raise if the sender may not fetch offsets. One that names neither member nor epoch is not a member, and may."""
    if member_id is None and epoch < 0:
        return
    member = group.member(member_id or "")
    if epoch != member.member_epoch:
        problem = f"The received {_epoch_name(member)} {epoch} does not match the expected member epoch"
        raise _stale(member, f"{problem} {member.member_epoch}.")


def _stale(member: Member, problem: str) -> RequestError:
    """The answer to an outdated member, in the words of its protocol."""
    is_classic = member.classic is not None
    return RequestError(ErrorCode.ILLEGAL_GENERATION if is_classic else ErrorCode.STALE_MEMBER_EPOCH, problem)


def _epoch_name(member: Member) -> str:
    return "member epoch" if member.classic is None else "generation id"
