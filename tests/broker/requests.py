"""Requests that several tests send."""

from __future__ import annotations

import struct
from typing import Any

from octavo.format.batches.batch import build_batch
from octavo.format.messages.schema import Row
from octavo.format.record import Record

TIME_MS = 1_700_000_000_000
CLOSING_FRAMES = {
    "a negative length": struct.pack(">i", -1),
    "a frame that is too large": struct.pack(">i", (100 << 20) + 1),
    "an unknown API": struct.pack(">ihhih", 10, 999, 0, 1, -1),
    "an unknown version": struct.pack(">ihhih", 10, 3, 99, 1, -1),
    "a version of Produce that is listed and refused": struct.pack(">ihhih", 10, 0, 2, 1, -1),
    "a client id beyond the frame": struct.pack(">ihhih", 10, 3, 0, 1, 500),
    "a body that is cut": struct.pack(">ihhihi", 14, 3, 0, 1, -1, 1000),
    "no header": struct.pack(">ih", 2, 3),
}


def batch(text: str, timestamp: int = TIME_MS, **fields: Any) -> bytes:
    return build_batch([Record(offset=0, timestamp=timestamp, key=b"k", value=text.encode())], **fields)


def produced(topic: str, partition: int, records: bytes | None, *, acks: int = -1) -> Row:
    data = {"name": topic, "partitionData": [{"index": partition, "records": records}]}
    return {"acks": acks, "timeoutMs": 5000, "topicData": [data]}


def fetching(topic: str, *partitions: int, offset: int = 0, most_bytes: int = 1 << 20, **fields: Any) -> Row:
    rows = [{"partition": number, "fetchOffset": offset, "partitionMaxBytes": most_bytes} for number in partitions]
    topics = [{"topic": topic, "partitions": rows}] if rows else []
    return {"maxWaitMs": 0, "minBytes": 1, "maxBytes": most_bytes, "topics": topics, **fields}
