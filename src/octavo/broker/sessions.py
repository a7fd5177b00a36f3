"""Fetch sessions (KIP-227): a client that fetches many partitions names only those that changed."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field

from octavo.broker.errors import RequestError
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode
from octavo.kernels.integers import INT32_MAX
from octavo.system.clock import Clock

IDS_FROM_VERSION = 13
FINAL_EPOCH, INITIAL_EPOCH = -1, 0
_MAX_EPOCH = _MAX_SESSION_ID = INT32_MAX
_MOST_PARTITIONS = 1_000_000  # in all sessions together
_EVICTABLE_AFTER_MS = 120_000

PartitionKey = tuple[bytes | str, int]
"""A topic's id or name, depending on the request's version, and a partition."""


@dataclass(slots=True)
class FetchedPartition:
    """What a client wants from a partition, and what it already knows about it."""

    topic: bytes | str
    partition: int
    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int
    last_fetched_epoch: int
    known_marks: tuple[int, int] | None = None  # high watermark and log start offset


@dataclass(slots=True)
class FetchSession:
    """A session's partitions in the order in which they are served; id 0 means that it ends with the answer."""

    session_id: int = 0
    epoch: int = INITIAL_EPOCH
    is_by_id: bool = False
    is_incremental: bool = False  # the request named only what changed, and so does the answer
    last_use_ms: int = 0
    partitions: dict[PartitionKey, FetchedPartition] = field(default_factory=dict)

    def update(self, topics: Iterable[Row], forgotten: Iterable[Row]) -> None:
        name, partitions = "topicId" if self.is_by_id else "topic", self.partitions
        for topic in topics:
            for row in topic["partitions"]:
                key = topic[name], row["partition"]
                known = partitions.get(key)
                partitions[key] = FetchedPartition(
                    *key,
                    row["fetchOffset"],
                    row["partitionMaxBytes"],
                    row["currentLeaderEpoch"],
                    row["lastFetchedEpoch"],
                    None if known is None else known.known_marks,
                )
        for topic in forgotten:
            for partition in topic["partitions"]:
                partitions.pop((topic[name], partition), None)

    def serve_later(self, key: PartitionKey) -> None:
        """Move a partition to the end, so that the others are served first the next time."""
        self.partitions[key] = self.partitions.pop(key)


class FetchSessions:
    """Lives on the loop's thread. A full cache drops the least recently used session for a new one, but only after two
    minutes without use."""

    def __init__(self, clock: Clock, slots: int) -> None:
        self._clock = clock
        self._slots = slots
        self._sessions: dict[int, FetchSession] = {}  # least recently used first

    def find(self, session_id: int) -> FetchSession | None:
        """A session, as its last request left it."""
        return self._sessions.get(session_id)

    def end(self, session_id: int) -> None:
        self._sessions.pop(session_id, None)

    def begin(self, body: Row, version: int) -> FetchSession:
        """The session of a request, already updated.

        Raises RequestError if there is none, if its epoch differs, if it identifies topics differently (by id or by
        name), or if all sessions together would have too many partitions.

        | id, epoch | meaning |
        |---|---|
        | any, -1 | all partitions, without a session; a session with that id ends |
        | any, 0 | all partitions, and a new session if there is room; a session with that id ends |
        | id, n | what changed since epoch n - 1 |
        """
        session_id, epoch, is_by_id = body["sessionId"], body["sessionEpoch"], version >= IDS_FROM_VERSION
        if epoch in (FINAL_EPOCH, INITIAL_EPOCH):
            self._sessions.pop(session_id, None)
            session = FetchSession(is_by_id=is_by_id)
            session.update(body["topics"], ())
            if epoch == INITIAL_EPOCH and session.partitions and self._fits(session) and self._has_room():
                session.session_id = self._free_id()
                self._keep(session, 1)
            return session
        known = self._sessions.get(session_id)
        if known is None:
            raise RequestError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if known.epoch != epoch:
            raise RequestError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if known.is_by_id is not is_by_id:
            raise RequestError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        known.is_incremental = True
        known.update(body["topics"], body["forgottenTopicsData"])
        if body["topics"] and not self._fits(known):
            del self._sessions[session_id]
            raise RequestError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)  # the client begins a new one
        if not known.partitions:
            del self._sessions[session_id]
            return FetchSession(is_by_id=is_by_id)
        self._keep(known, epoch + 1 if epoch < _MAX_EPOCH else 1)
        return known

    def _keep(self, session: FetchSession, epoch: int) -> None:
        session.epoch, session.last_use_ms = epoch, self._clock.monotonic_ms()
        self._sessions.pop(session.session_id, None)
        self._sessions[session.session_id] = session

    def _fits(self, session: FetchSession) -> bool:
        others = sum(len(one.partitions) for one in self._sessions.values() if one is not session)
        return others + len(session.partitions) <= _MOST_PARTITIONS

    def _has_room(self) -> bool:
        if len(self._sessions) < self._slots:
            return True
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None or self._clock.monotonic_ms() - oldest.last_use_ms <= _EVICTABLE_AFTER_MS:
            return False
        del self._sessions[oldest.session_id]
        return True

    def _free_id(self) -> int:
        while True:
            session_id = 1 + secrets.randbelow(_MAX_SESSION_ID)
            if session_id not in self._sessions:
                return session_id
