"""ElectLeaders: does nothing, since each partition has only one replica."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

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
        refused = error_fields(error)
        return {"errorCode": error.code, "replicaElectionResults": _results(wanted or (), lambda *_: refused)}
    if wanted is None:
        return {"replicaElectionResults": [{"topic": name} for name in context.catalog.topics]}
    return {"replicaElectionResults": _results(wanted, partial(_answer, context))}


def _results(wanted: Iterable[Row], answer: Callable[[str, int], Row]) -> list[Row]:
    return [
        {
            "topic": row["topic"],
            "partitionResult": [{"partitionId": each, **answer(row["topic"], each)} for each in row["partitions"]],
        }
        for row in wanted
    ]


def _answer(context: Context, topic: str, partition: int) -> Row:
    known = context.catalog.topics.get(topic)
    if known is None or partition not in known.logs:
        problem = f"No such topic as {topic}" if known is None else f"No such partition as {topic}-{partition}"
        return {"errorCode": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "errorMessage": problem}
    return {"errorCode": ErrorCode.ELECTION_NOT_NEEDED, "errorMessage": None}
