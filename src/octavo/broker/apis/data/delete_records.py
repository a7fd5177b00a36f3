"""DeleteRecords: moves the log start offsets of partitions forward."""

from __future__ import annotations

from functools import partial

from octavo.broker.context import Context
from octavo.broker.errors import code_of
from octavo.broker.request import Request, later
from octavo.broker.rows import topic_rows
from octavo.broker.security.acls import Operation
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row


@later
def handle(request: Request, context: Context) -> Row:
    return {"topics": topic_rows(request.body["topics"], "name", partial(_answer, request, context))}


def _answer(request: Request, context: Context, topic: str, row: Row) -> Row:
    partition = row["partitionIndex"]
    try:
        log = context.topic(request.client, Operation.DELETE, topic).log(partition)
        low_watermark = log.delete_records(row["offset"])
        return {"partitionIndex": partition, "lowWatermark": low_watermark}
    except OctavoError as error:
        return {"partitionIndex": partition, "lowWatermark": -1, "errorCode": code_of(error)}
