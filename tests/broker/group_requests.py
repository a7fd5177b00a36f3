"""Bodies of requests about groups."""

from __future__ import annotations

from typing import Any

from octavo.format.messages.consumer_protocol import encode_assignment
from octavo.format.messages.schema import Row
from tests.format.messages.encoded import encode_subscription

SUBSCRIPTION = encode_subscription(0, {"topics": ["t"], "userData": None})
ASSIGNMENT = encode_assignment(0, {"assignedPartitions": [{"topic": "t", "partitions": [0, 1]}], "userData": None})
RANGE = {"name": "range", "metadata": SUBSCRIPTION}


def joining(group: str, member: str = "", **fields: Any) -> Row:
    return {
        "groupId": group,
        "sessionTimeoutMs": 30_000,
        "rebalanceTimeoutMs": 60_000,
        "memberId": member,
        "protocolType": "consumer",
        "protocols": [RANGE],
        **fields,
    }


def syncing(group: str, member: str, generation: int = 1, *assigned: str, **fields: Any) -> Row:
    assignments = [{"memberId": name, "assignment": ASSIGNMENT} for name in assigned]
    named = {"protocolType": "consumer", "protocolName": "range"}
    return {
        "groupId": group,
        "generationId": generation,
        "memberId": member,
        "assignments": assignments,
        **named,
        **fields,
    }


def beating(group: str, member: str, generation: int = 1, **fields: Any) -> Row:
    return {"groupId": group, "generationId": generation, "memberId": member, **fields}


def committing(group: str, topic: Row, *offsets: Row, member: str = "", generation: int = -1, **fields: Any) -> Row:
    rows = [{"partitionIndex": 0, "committedOffset": 5, "committedMetadata": "", **offset} for offset in offsets]
    return {
        "groupId": group,
        "generationIdOrMemberEpoch": generation,
        "memberId": member,
        "topics": [{**topic, "partitions": rows}],
        **fields,
    }


def leaving(group: str, version: int, *members: Row) -> Row:
    if version < 3:
        return {"groupId": group, "memberId": members[0]["memberId"]}
    return {"groupId": group, "members": list(members)}
