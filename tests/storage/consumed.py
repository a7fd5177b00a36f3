"""What a consumer gets from a partition's log: its fetches, and the rules by which it drops batches."""

from __future__ import annotations

from typing import NamedTuple

from octavo.format.batches.batch import decode_batch
from octavo.format.batches.control import ControlType, control_type_id
from octavo.format.batches.walker import walk
from octavo.format.record import TimestampType
from octavo.kernels import layout
from octavo.storage.log.read import Fetched, Isolation
from octavo.storage.partition_log import PartitionLog

MAX_BYTES = 5000


class ConsumedRecord(NamedTuple):
    """A record, with its headers as plain pairs."""

    offset: int
    timestamp: int
    timestamp_type: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def consume(
    log: PartitionLog, isolation: Isolation = Isolation.READ_UNCOMMITTED, *, max_bytes: int = MAX_BYTES
) -> list[ConsumedRecord]:
    """All records from the log's start on, in as many fetches as it takes."""
    found: list[ConsumedRecord] = []
    offset = log.log_start_offset
    while (fetched := log.read(offset, max_bytes, isolation)).records is not None:
        records, offset = _take(fetched, offset)
        found += records
    return found


def _take(fetched: Fetched, start_offset: int) -> tuple[list[ConsumedRecord], int]:
    """The records of a fetch from an offset on, and where the next fetch begins."""
    data, found, offset = fetched.read(), list[ConsumedRecord](), start_offset
    waiting = sorted(fetched.aborted, key=lambda aborted: aborted.first_offset)
    dropped: set[int] = set()
    for row in walk(data).table:
        assert not row["flaws"], row
        header, records = decode_batch(data, int(row["position"]))
        last_offset = int(row["base_offset"] + row["last_offset_delta"])
        while waiting and waiting[0].first_offset <= last_offset:
            dropped.add(waiting.pop(0).producer_id)
        is_dropped = header.producer_id in dropped and header.attributes & layout.TRANSACTIONAL
        if header.attributes & layout.CONTROL:
            if control_type_id(records[0].key) == ControlType.ABORT:
                dropped.discard(header.producer_id)
        elif not is_dropped:
            kind = str(TimestampType.of(header.magic, header.attributes))
            found += [
                ConsumedRecord(one.offset, one.timestamp, kind, one.key, one.value, one.headers)
                for one in records
                if one.offset >= start_offset
            ]
        offset = last_offset + 1
    assert offset > start_offset, "a fetch without a whole batch"
    return found, offset
