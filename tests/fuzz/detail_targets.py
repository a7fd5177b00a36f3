"""Targets that examine bytes piece by piece: anatomy, index entries, records, messages and markers."""

from __future__ import annotations

import numpy as np

from octavo.errors import CorruptionError
from octavo.format.anatomy import describe_batch, describe_incomplete
from octavo.format.anatomy.entries import describe_entries
from octavo.format.anatomy.node import Node
from octavo.format.batches.batch import decode_batch, read_header
from octavo.format.batches.header import BatchHeader
from octavo.format.batches.marker_table import decode_markers
from octavo.format.batches.record_parts import BaseValues, read_records
from octavo.format.batches.walker import walk
from octavo.format.legacy.message import Message, read_messages
from octavo.format.names import FileKind
from octavo.format.record import Record, TimestampType
from octavo.kernels.layout import BATCH_OVERHEAD, CONTROL, Flaw
from tests.fuzz import seeds
from tests.fuzz.log_targets import LIMIT, make_log
from tests.fuzz.sealing import seal_snapshot
from tests.fuzz.target import Target, mutating


def run_anatomy(data: bytes) -> None:
    """Damage must be shown, never raised, and each part must have the bytes of the whole at its position."""
    found = walk(data)
    view = memoryview(data)
    for row in found.table:
        start, size = int(row["position"]), int(row["size"])
        check(describe_batch(view[start : start + size], start, limit=LIMIT), data)
    check(describe_incomplete(view[found.next_position :], found.next_position), data)


def check(node: Node, whole: bytes, start: int = 0) -> None:
    """`whole` are the bytes around the node, which begin at position `start`."""
    at = node.position - start
    assert at >= 0 and whole[at : at + node.length] == node.raw
    for child in node.children:
        is_packed = "unpacks to" in node.meaning  # then its children are parts of other bytes
        check(child, *((child.raw, child.position) if is_packed else (node.raw, node.position)))


def run_entries(data: bytes) -> None:
    for kind in (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX, FileKind.PRODUCER_SNAPSHOT):
        nodes = list(describe_entries(kind, memoryview(data), 1000))
        assert b"".join(node.raw for node in nodes) == data
        for node in nodes:
            check(node, data)


def run_records(data: bytes) -> None:
    """Records read one by one must equal the decoder's, which accepts a whole batch or nothing."""
    header = read_header(data)
    if header.magic != 2 or header.codec_id or header.flaws:
        return
    one_by_one = alone(data, header)
    try:
        _, records = decode_batch(data, limit=LIMIT)
    except CorruptionError:
        assert not isinstance(one_by_one, list)
        raise
    assert one_by_one == records


def alone(data: bytes, header: BatchHeader) -> list[Record] | CorruptionError:
    appended = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    base = BaseValues(header.base_offset, header.base_timestamp, header.max_timestamp if appended else None)
    try:
        return list(read_records(memoryview(data), BATCH_OVERHEAD, header.size, header.count, base))
    except CorruptionError as error:
        return error


def run_messages(data: bytes) -> None:
    """Messages read one by one must equal the decoder's if it accepts the set."""
    header = read_header(data)
    if header.magic not in (0, 1) or header.flaws & Flaw.CRC_MISMATCH:
        return
    try:
        _, records = decode_batch(data, limit=LIMIT)
    except CorruptionError:
        for message in read_messages(memoryview(data)[: header.size], limit=LIMIT):
            as_record(message)
        return
    assert [as_record(message) for message in read_messages(memoryview(data)[: header.size], limit=LIMIT)] == records


def as_record(message: Message) -> Record:
    _ = message.timestamp_type, message.is_valid
    return Record(message.offset, message.timestamp, message.key, message.value)


def run_markers(data: bytes) -> None:
    table = walk(data).table
    table = table[(table["magic"] == 2) & (table["flaws"] == 0)]
    found = decode_markers(data, table)
    before = table[: found.rows]
    assert len(found.markers) == np.count_nonzero((before["attributes"] & CONTROL != 0) & (before["producer_id"] >= 0))
    assert (found.rows == len(table)) == (found.damage is None)
    if found.damage is not None:
        raise found.damage


def entry_files() -> list[bytes]:
    return [data for kind in ("*.index", "*.timeindex", "*.txnindex", "*.snapshot") for data in seeds.files(kind)]


DETAIL_TARGETS = [
    Target("anatomy", make_log, run_anatomy, weight=2),
    Target("anatomy-entries", mutating(entry_files, seal=seal_snapshot), run_entries),
    Target("records-one-by-one", make_log, run_records, weight=3),
    Target("messages-one-by-one", make_log, run_messages, weight=3),
    Target("markers", make_log, run_markers),
]
