"""ListOffsets: finds the offset that belongs to a timestamp, or a log's start or end."""

from __future__ import annotations

from collections import Counter
from functools import partial

from octavo.broker.context import NO_EPOCH, Context, check_leader_epoch
from octavo.broker.errors import RequestError, code_of
from octavo.broker.request import Answer, Request
from octavo.broker.rows import topic_rows
from octavo.broker.security.acls import Operation
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode
from octavo.storage.log.read import Isolation

_SPECIAL_FROM_VERSION = {-1: 1, -2: 1, -3: 7, -4: 8, -5: 9, -6: 11}
_OF_ENDS = (-1, -2, -4)
_EPOCHS_FROM_VERSION = 4
_NEVER = 0x7FFF


def handle(request: Request, context: Context) -> Answer:
    topics = request.body["topics"]
    asked = Counter((topic["name"], row["partitionIndex"]) for topic in topics for row in topic["partitions"])
    twice = {key for key, count in asked.items() if count > 1}
    answers = topic_rows(topics, "name", partial(_answer, request, context, twice))
    if twice:  # a partition named twice under one topic is answered once
        for answer in answers:
            answer["partitions"] = list({row["partitionIndex"]: row for row in answer["partitions"]}.values())
    return {"topics": answers}


def _answer(request: Request, context: Context, twice: set[tuple[str, int]], topic: str, row: Row) -> Row:
    partition, timestamp = row["partitionIndex"], row["timestamp"]
    try:
        if (topic, partition) in twice:
            raise RequestError(ErrorCode.INVALID_REQUEST)
        if timestamp < 0 and request.version < _SPECIAL_FROM_VERSION.get(timestamp, _NEVER):
            raise RequestError(ErrorCode.UNSUPPORTED_VERSION)
        log = context.topic(request.client, Operation.DESCRIBE, topic).log(partition)
        log.check_usable("list offsets")
        check_leader_epoch(log, row["currentLeaderEpoch"])
        is_committed = request.body["isolationLevel"] == 1
        isolation = Isolation.READ_COMMITTED if is_committed else Isolation.READ_UNCOMMITTED
        place = log.offset_for_timestamp(timestamp, isolation)
    except OctavoError as error:
        return {"partitionIndex": partition, "timestamp": -1, "offset": -1, "errorCode": code_of(error)}
    found: Row = {"partitionIndex": partition, "timestamp": place.timestamp, "offset": place.offset}
    if request.version >= _EPOCHS_FROM_VERSION:
        is_of_an_empty_log = place.leader_epoch == NO_EPOCH and timestamp in _OF_ENDS
        found["leaderEpoch"] = log.leader_epoch if is_of_an_empty_log else place.leader_epoch
    return found
