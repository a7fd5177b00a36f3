"""A heartbeat as it arrives, and what Kafka checks before it looks at the group."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

from octavo.config import BrokerConfig
from octavo.coordinator.errors import RequestError
from octavo.coordinator.groups.assignors import ASSIGNORS
from octavo.coordinator.groups.consumer.group import AWAY, LEFT
from octavo.coordinator.groups.consumer.topics import TopicIdPartition
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode

_OWN_ID_FROM_VERSION = 1  # from this version on, members choose their ids themselves
_BLANKS = "".join(map(chr, range(0x21)))


def _all(topic: str) -> bool:
    return True


class Heartbeat(NamedTuple):
    """A ConsumerGroupHeartbeat request: its fields, who sent it, and the token of its answer.

    Fields that are null, or a rebalance timeout of -1, have not changed since the member's last heartbeat.
    """

    body: Row
    version: int
    client_id: str
    client_host: str
    token: Hashable = None
    may_describe: Callable[[str], bool] = _all  # whether the client may know about a topic
    session_timeout_ms: int | None = None  # only for a member in this process

    @property
    def is_local(self) -> bool:
        return self.session_timeout_ms is not None

    @property
    def epoch(self) -> int:
        epoch: int = self.body["memberEpoch"]
        return epoch

    @property
    def owned(self) -> frozenset[TopicIdPartition] | None:
        """The partitions that the member says it has; None if it does not say."""
        rows = self.body["topicPartitions"]
        if rows is None:
            return None
        return frozenset(TopicIdPartition(row["topicId"], number) for row in rows for number in row["partitions"])

    @property
    def is_full(self) -> bool:
        """Whether it names its rebalance timeout, its subscription and its partitions; the answer is then complete
        too."""
        body = self.body
        has_topics = body["subscribedTopicNames"] is not None or body["subscribedTopicRegex"] is not None
        return body["rebalanceTimeoutMs"] != -1 and has_topics and body["topicPartitions"] is not None


def check(request: Heartbeat, config: BrokerConfig) -> None:
    """Raise if the request is invalid, whatever the state of the group."""
    body = request.body
    if request.version >= _OWN_ID_FROM_VERSION or request.epoch > 0 or request.epoch == LEFT:
        _check_text(body["memberId"], "MemberId")
    for name, text in (("GroupId", "groupId"), ("InstanceId", "instanceId"), ("RackId", "rackId")):
        _check_text(body[text], name)
    if request.epoch == 0:
        if body["rebalanceTimeoutMs"] == -1:
            raise _invalid("RebalanceTimeoutMs must be provided in first request.")
        if body["topicPartitions"] is None or body["topicPartitions"]:
            raise _invalid("TopicPartitions must be empty when (re-)joining.")
        if body["subscribedTopicNames"] is None and body["subscribedTopicRegex"] is None:
            raise _invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
    elif request.epoch == AWAY:
        if body["instanceId"] is None:
            raise _invalid("InstanceId can't be null.")
    elif request.epoch < AWAY:
        raise _invalid("MemberEpoch is invalid.")
    assignor, known = body["serverAssignor"], ASSIGNORS if request.is_local else config.group_consumer_assignors
    if assignor is not None and assignor not in known:
        raise RequestError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {assignor} is not supported. Supported assignors: {', '.join(known)}.",
        )


def _check_text(text: str | None, name: str) -> None:
    if text is not None and not text.strip(_BLANKS):
        raise _invalid(f"{name} can't be empty.")


def _invalid(problem: str) -> RequestError:
    return RequestError(ErrorCode.INVALID_REQUEST, problem)
