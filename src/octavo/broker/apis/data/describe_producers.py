"""DescribeProducers: lists what partitions know about the producers that wrote to them."""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.errors import error_fields
from octavo.broker.request import Answer, Request
from octavo.broker.security.acls import Operation
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row


def handle(request: Request, context: Context) -> Answer:
    return {
        "topics": [
            {
                "name": topic["name"],
                "partitions": [
                    _answer(request, context, topic["name"], partition) for partition in topic["partitionIndexes"]
                ],
            }
            for topic in request.body["topics"]
        ]
    }


def _answer(request: Request, context: Context, topic: str, partition: int) -> Row:
    try:
        producers = context.named_topic(request.client, Operation.READ, topic).log(partition).producer_entries()
    except OctavoError as error:
        return {"partitionIndex": partition, **error_fields(error)}
    rows = [
        {
            "producerId": entry.producer_id,
            "producerEpoch": entry.epoch,
            "lastSequence": entry.last_sequence,
            "lastTimestamp": entry.last_timestamp,
            "coordinatorEpoch": entry.coordinator_epoch,
            "currentTxnStartOffset": -1 if entry.current_txn_first_offset is None else entry.current_txn_first_offset,
        }
        for entry in producers
    ]
    return {"partitionIndex": partition, "activeProducers": rows}
