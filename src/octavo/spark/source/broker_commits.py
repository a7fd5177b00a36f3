"""commitServers: sends the offsets of commitGroup to a broker, since the directory of a running broker has an owner."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from octavo.errors import OctavoError
from octavo.format.messages.schema import Row
from octavo.format.protocol.apis import FIND_COORDINATOR, OFFSET_COMMIT
from octavo.format.protocol.error_codes import ErrorCode
from octavo.spark.query.values import Address, PartitionOffsets, to_nested
from octavo.spark.source.broker_request import PassingError, ask
from octavo.spark.source.group_commits import WITHOUT_IT

_FIND_VERSION, _COMMIT_VERSION = 0, 2  # the lowest that Kafka 4 answers, so that older brokers know them too
_RETRY_SECONDS = 0.2
_WHAT_TO_CHECK = (
    "Check that commitServers names brokers of the right cluster, and that they run and can be reached from here, also"
    " under the addresses of their advertised.listeners"
)
# What may be over soon: the coordinator moves or starts, or does not know a new topic yet.
_PASSING: dict[int, str] = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: "the group's coordinator is starting",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "the group has no coordinator at the moment",
    ErrorCode.NOT_COORDINATOR: "the group's coordinator has moved",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "this broker does not have the partition",
}
_LASTING: dict[int, str] = {
    ErrorCode.UNKNOWN_MEMBER_ID: "the group has members, and only they may commit. Stop them, or choose another name"
    " for commitGroup",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "its ACLs must allow User:ANONYMOUS to read the group",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "its ACLs must allow User:ANONYMOUS to read the topic",
    ErrorCode.POLICY_VIOLATION: "it is read-only, so give the address of a broker that writes",
}

_log = logging.getLogger("octavo.spark")


@dataclass(frozen=True, slots=True)
class BrokerCommits:
    """Commits as a consumer without a subscription does. Every commit makes its own connections: none stays open.

    Old brokers know topics only by name, so the ids of topics are not sent.
    """

    group: str
    servers: tuple[Address, ...]
    wait_seconds: float
    pause: Callable[[float], None] = time.sleep

    def commit(self, offsets: PartitionOffsets, topic_ids: Mapping[str, bytes | None]) -> None:
        """Commit the next offsets to read. Waits for a broker that is restarting, and for a coordinator that moves."""
        end, was_logged = time.monotonic() + self.wait_seconds, False
        while True:
            try:
                return self._commit(offsets)
            except PassingError as error:
                if time.monotonic() >= end:
                    problem = f"the offsets of group {self.group!r} could not be committed: {error}"
                    raise OctavoError(f"{problem}. {_WHAT_TO_CHECK}, or {WITHOUT_IT}") from None
                if not was_logged:
                    _log.warning("commitGroup=%s: %s; trying again for %gs", self.group, error, self.wait_seconds)
                    was_logged = True
            self.pause(_RETRY_SECONDS)

    def _commit(self, offsets: PartitionOffsets) -> None:
        coordinator = self._coordinator()
        topics = [
            {"name": topic, "partitions": [_committed(int(number), offset) for number, offset in partitions.items()]}
            for topic, partitions in to_nested(offsets).items()
        ]
        answer = ask(coordinator, OFFSET_COMMIT, _COMMIT_VERSION, {"groupId": self.group, "topics": topics})
        for topic in answer["topics"]:
            for row in topic["partitions"]:
                self._check(coordinator, row["errorCode"], f"offset of {topic['name']}-{row['partitionIndex']}")

    def _coordinator(self) -> Address:
        """The broker that keeps the group's offsets, as the first server that answers names it."""
        problems = []
        for server in self.servers:
            try:
                found = ask(server, FIND_COORDINATOR, _FIND_VERSION, {"key": self.group})
            except PassingError as error:
                problems.append(str(error))
                continue
            self._check(server, found["errorCode"], "request for the coordinator")
            return Address(found["host"], found["port"])
        raise PassingError("; ".join(problems))

    def _check(self, server: Address, code: int, refused: str) -> None:
        if code == ErrorCode.NONE:
            return
        name = next((error.name for error in ErrorCode if error == code), f"error {code}")
        problem = f"broker {server} refused the {refused} for group {self.group!r} ({name})"
        if code in _PASSING:
            raise PassingError(f"{problem}: {_PASSING[code]}")
        raise OctavoError(f"{problem}: {_LASTING.get(code, f'see the log of the broker, or {WITHOUT_IT}')}")


def _committed(number: int, offset: int) -> Row:
    return {"partitionIndex": number, "committedOffset": offset, "committedMetadata": ""}
