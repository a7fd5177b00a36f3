"""Fetch: returns batches from given offsets on, as slices of files; a request may wait until there is enough data.

Unlike Kafka: a request from a follower is refused with INVALID_REQUEST, since there are no followers here. All fetch
sessions together hold at most a million partitions, so that clients cannot fill the memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from octavo.broker.context import NO_EPOCH, Context, check_leader_epoch
from octavo.broker.errors import RequestError, code_of
from octavo.broker.request import Answer, Request
from octavo.broker.security.acls import Operation
from octavo.broker.sessions import FetchedPartition, FetchSession, PartitionKey
from octavo.broker.watch import Watch
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode
from octavo.storage.log.read import Isolation
from octavo.storage.partition_log import PartitionLog

_STORAGE_ERROR_FROM_VERSION = 6
_LEADER_FROM_VERSION = 16
_NOT_THERE = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
_ISOLATIONS = (Isolation.READ_UNCOMMITTED, Isolation.READ_COMMITTED)


def handle(request: Request, context: Context) -> Answer:
    body = request.body
    if body["replicaId"] >= 0 or body["replicaState"]["replicaId"] >= 0:
        raise RequestError(ErrorCode.INVALID_REQUEST)
    session = context.sessions.begin(body, request.version)
    fetch = _Fetch(request, context, session)
    if fetch.look() or body["maxWaitMs"] <= 0 or not session.partitions:
        return fetch.answer()
    return _FetchWait(fetch, context.loop, body["maxWaitMs"])


class _Read(NamedTuple):
    """The result of reading a partition."""

    row: Row
    size: int
    marks: tuple[int, int] | None  # high watermark and log start offset
    is_urgent: bool  # no reason to wait: an error, a diverging epoch, or records of an older segment
    is_news: bool  # an incremental answer has to include it, even if the client knows the marks


class _Fetch:
    """A request that is evaluated once or, while it waits, again after changes."""

    def __init__(self, request: Request, context: Context, session: FetchSession) -> None:
        body = request.body
        self._version = request.version
        self._client = request.client
        self._endpoint = request.peer.endpoint
        self._leaders: list[Row] = []  # where the leader is, for a client that does not know it
        self._context = context
        self._session = session
        self._isolation = _ISOLATIONS[body["isolationLevel"] == 1]
        self._max_bytes = min(body["maxBytes"], context.config.fetch_max_bytes)
        self._min_bytes = min(body["minBytes"], self._max_bytes)
        self._found: dict[PartitionKey, _Read] = {}
        self.logs: list[PartitionLog] = []

    def look(self) -> bool:
        """Read all partitions; returns whether that is enough for an answer."""
        left, size, is_urgent = self._max_bytes, 0, False
        self.logs = []
        for key, wanted in self._session.partitions.items():
            found = self._found[key] = self._read(wanted, left, is_first=not size)
            size += found.size
            left = max(left - found.size, 0)
            is_urgent = is_urgent or found.is_urgent
        return is_urgent or size >= self._min_bytes

    def has_grown(self) -> bool:
        """Whether a log has grown since it was read."""
        marks = [found.marks[0] for found in self._found.values() if found.marks is not None]
        return marks != [log.high_watermark for log in self.logs]

    def _read(self, wanted: FetchedPartition, left: int, *, is_first: bool) -> _Read:
        try:
            return self._read_log(wanted, left, is_first=is_first)
        except OctavoError as error:
            code = code_of(error)
            if code == ErrorCode.KAFKA_STORAGE_ERROR and self._version < _STORAGE_ERROR_FROM_VERSION:
                code = ErrorCode.NOT_LEADER_OR_FOLLOWER
            row: Row = {"partitionIndex": wanted.partition, "errorCode": code, "highWatermark": -1, "records": b""}
            row["abortedTransactions"] = [] if code in _NOT_THERE else None
            if code == ErrorCode.FENCED_LEADER_EPOCH and self._version >= _LEADER_FROM_VERSION:
                row["currentLeader"] = {
                    "leaderId": self._context.node_id,
                    "leaderEpoch": self._log(wanted).leader_epoch,
                }
                host, port = self._endpoint
                self._leaders = [{"nodeId": self._context.node_id, "host": host, "port": port}]
            return _Read(row, 0, None, is_urgent=True, is_news=True)

    def _read_log(self, wanted: FetchedPartition, left: int, *, is_first: bool) -> _Read:
        log = self._log(wanted)
        if wanted.current_leader_epoch > NO_EPOCH:
            check_leader_epoch(log, wanted.current_leader_epoch)
        isolation, marks = self._isolation, (log.high_watermark, log.log_start_offset)
        row: Row = {
            "partitionIndex": wanted.partition,
            "highWatermark": marks[0],
            "lastStableOffset": log.last_stable_offset,
            "logStartOffset": marks[1],
            "abortedTransactions": None,
            "records": b"",
        }
        self.logs.append(log)
        if wanted.last_fetched_epoch >= 0:
            end = log.end_offset_for_epoch(wanted.last_fetched_epoch)
            if end.epoch < 0 or wanted.fetch_offset < log.log_start_offset:
                raise RequestError(ErrorCode.OFFSET_OUT_OF_RANGE)
            if end.epoch < wanted.last_fetched_epoch or end.end_offset < wanted.fetch_offset:
                row["divergingEpoch"] = {"epoch": end.epoch, "endOffset": end.end_offset}
                return _Read(row, 0, marks, is_urgent=True, is_news=True)
        found = log.read(wanted.fetch_offset, min(wanted.max_bytes, left), isolation, min_one_batch=is_first)
        if isolation is Isolation.READ_COMMITTED:
            row["abortedTransactions"] = [
                {"producerId": aborted.producer_id, "firstOffset": aborted.first_offset} for aborted in found.aborted
            ]
        records = found.records
        if records is None or found.first_batch_incomplete:
            return _Read(row, 0, marks, is_urgent=False, is_news=False)
        row["records"] = records
        is_in_older_segment = found.start.segment_base_offset < log.log_end.segment_base_offset
        return _Read(row, records.size, marks, is_in_older_segment, is_news=True)

    def _log(self, wanted: FetchedPartition) -> PartitionLog:
        return self._context.topic(self._client, Operation.READ, wanted.topic).log(wanted.partition)

    def answer(self) -> Row:
        """The response with what the last look found. An incremental response leaves out partitions without news."""
        session = self._session
        name = "topicId" if session.is_by_id else "topic"
        topics: dict[bytes | str, Row] = {}
        for key, found in self._found.items():
            wanted = session.partitions.get(key)
            if wanted is None or (session.is_incremental and not found.is_news and wanted.known_marks == found.marks):
                continue
            wanted.known_marks = found.marks
            topic = topics.get(wanted.topic)
            if topic is None:
                topic = topics[wanted.topic] = {name: wanted.topic, "partitions": []}
            topic["partitions"].append(found.row)
            if found.size and session.session_id:
                session.serve_later(key)
        return {
            "sessionId": session.session_id,
            "responses": list(topics.values()),
            "nodeEndpoints": self._leaders,
        }


class _FetchWait:
    """A long poll: answered as soon as `look` finds enough, or after `max_wait_ms`."""

    def __init__(self, fetch: _Fetch, loop: asyncio.AbstractEventLoop, max_wait_ms: int) -> None:
        self._fetch = fetch
        self._loop = loop
        self._max_wait_ms = max_wait_ms

    def start(self, answer: Callable[[Row], None]) -> None:
        self._answer = answer
        self._watch = Watch(self._loop, self._fetch.logs, self._look)
        self._timer = self._loop.call_later(self._max_wait_ms / 1000, self._end)
        if self._fetch.has_grown():  # after the logs were read, but before the watch began
            self._look()

    def cancel(self) -> None:
        self._timer.cancel()
        self._watch.end()

    def _look(self) -> None:
        if self._fetch.look():
            self._end()

    def _end(self) -> None:
        self.cancel()
        self._answer(self._fetch.answer())
