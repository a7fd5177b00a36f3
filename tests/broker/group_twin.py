"""Consumer groups on a real Kafka 4.3.1 and on ours."""

from __future__ import annotations

import itertools
import re
from typing import Any

from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from tests.broker.raw import RawClient
from tests.broker.twin import UNORDERED, Twin

# Without a pause between two assignments, so that the answers do not depend on the time.
CONFIGS = {"group.consumer.assignment.interval.ms": "0", "group.consumer.max.size": "3"}
TOPICS = {"t": 2, "u": 1, "a1": 1, "a2": 1}
NUMBERS = itertools.count()
UUID = re.compile(r"[A-Za-z0-9_-]{22}")


class GroupTwin(Twin):
    """Compares error messages too, and ignores random ids and the order in which Java's maps list things."""

    masked = (Twin.masked - {"errorMessage"}) | {"clientHost"}
    unordered = frozenset(UNORDERED | {"topicPartitions", "members", "subscribedTopicNames"})
    new_ids = UUID


class Group:
    """A new group on both brokers."""

    def __init__(self, twin: GroupTwin) -> None:
        self._twin = twin
        self.group_id = f"g{next(NUMBERS)}"

    def send(self, member_id: str, epoch: int, owned: Row | None = None, *, version: int = 1, **fields: Any) -> Row:
        body = {"groupId": self.group_id, "memberId": member_id, "memberEpoch": epoch, **fields}
        if owned is not None:
            rows = [{"topicId": f"id of {name}", "partitions": numbers} for name, numbers in owned.items()]
            body["topicPartitions"] = rows
        answer = self._twin.ask(apis.CONSUMER_GROUP_HEARTBEAT, version, body)
        assert answer is not None
        return answer

    def join(self, member_id: str, *names: str, **fields: Any) -> Row:
        whole = {"rebalanceTimeoutMs": 60_000, "subscribedTopicNames": list(names)}
        return self.send(member_id, 0, {}, **{**whole, **fields})

    def described(self, version: int = 1) -> Row:
        body = {"groupIds": [self.group_id], "includeAuthorizedOperations": True}
        answer = self._twin.ask(apis.CONSUMER_GROUP_DESCRIBE, version, body)
        assert answer is not None
        row: Row = answer["groups"][0]
        return row

    def wait_for_epoch(self, epoch: int) -> None:
        """Wait until Kafka, which resolves regular expressions in the background, has reached this epoch."""
        with RawClient(self._twin.real) as client:
            body = {"groupIds": [self.group_id], "includeAuthorizedOperations": False}
            client.ask_until(
                apis.CONSUMER_GROUP_DESCRIBE, 1, body, lambda answer: answer["groups"][0]["groupEpoch"] == epoch
            )
