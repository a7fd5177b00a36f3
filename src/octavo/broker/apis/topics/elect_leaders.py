"""ElectLeaders: does nothing, since each partition has only one replica."""

from __future__ import annotations

from collections.abc import Iterable

from octavo.broker.context import Context
from octavo.broker.errors import RequestError, error_fields
from octavo.broker.request import Answer, Request
from octavo.broker.security.acls import Operation
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode


def handle(request: Request, context: Context) -> Answer:
    wanted = request.body["topicPartitions"]
    try:
        context.check_cluster(request.client, Operation.ALTER)
    except RequestError as error:
        return {"errorCode": error.code, "replicaElectionResults": _refused(wanted or (), error)}
    if wanted is None:
        return {"replicaElectionResults": [{"topic": name} for name in context.catalog.topics]}
    return {
        "replicaElectionResults": [
            {
                "topic": row["topic"],
                "partitionResult": [_answer(context, row["topic"], partition) for partition in row["partitions"]],
            }
            for row in wanted
        ]
    }


def _refused(wanted: Iterable[Row], error: RequestError) -> list[Row]:
    return [
        {
            "topic": row["topic"],
            "partitionResult": [{"partitionId": partition, **error_fields(error)} for partition in row["partitions"]],
        }
        for row in wanted
    ]


def _answer(context: Context, topic: str, partition: int) -> Row:
    known = context.catalog.topics.get(topic)
    if known is None or partition not in known.logs:
        problem = f"No such topic as {topic}" if known is None else f"No such partition as {topic}-{partition}"
        return {"partitionId": partition, "errorCode": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "errorMessage": problem}
    return {"partitionId": partition, "errorCode": ErrorCode.ELECTION_NOT_NEEDED, "errorMessage": None}
