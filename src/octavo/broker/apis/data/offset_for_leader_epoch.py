"""OffsetForLeaderEpoch: says where the epochs of earlier leaders ended."""

from __future__ import annotations

from functools import partial

from octavo.broker.context import Context, check_leader_epoch
from octavo.broker.errors import code_of
from octavo.broker.request import Answer, Request
from octavo.broker.rows import topic_rows
from octavo.broker.security.acls import Operation
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row
from octavo.storage.log.epochs import EpochEnd


def handle(request: Request, context: Context) -> Answer:
    return {"topics": topic_rows(request.body["topics"], "topic", partial(_answer, request, context))}


def _answer(request: Request, context: Context, topic: str, row: Row) -> Row:
    found: Row = {"partition": row["partition"]}
    try:
        if context.authorizer.allows_cluster(request.client, Operation.CLUSTER_ACTION):  # as a broker may
            log = context.catalog.named(topic).log(row["partition"])
        else:
            log = context.topic(request.client, Operation.DESCRIBE, topic).log(row["partition"])
        check_leader_epoch(log, row["currentLeaderEpoch"])
        end = log.end_offset_for_epoch(row["leaderEpoch"])
        if row["leaderEpoch"] == log.leader_epoch:  # perhaps nothing was written in this epoch yet
            end = EpochEnd(log.leader_epoch, log.log_end_offset)
        return {**found, "leaderEpoch": end.epoch, "endOffset": end.end_offset}
    except OctavoError as error:
        return {**found, "errorCode": code_of(error)}
