"""Splitting a batch that its topic finds too large."""

from __future__ import annotations

from octavo import kernels
from octavo.client.producer.batch import BatchLimits, ProducerBatch
from octavo.client.producer.encode import encode_headers, upper_bound
from octavo.format.batches.decoder import Decoder
from octavo.format.batches.header import BatchHeader
from octavo.format.batches.row_columns import to_records
from octavo.kernels import layout
from octavo.kernels.layout import Refused


def split_batch(batch: ProducerBatch, batch_size: int, ratio: float) -> list[tuple[int, ProducerBatch]]:
    """The records of a batch in smaller ones, each with the place that its first record had.

    They are as large as new batches may be; those of a batch that is no larger, half as large as it was.
    """
    size = batch.filled
    limit = batch_size if size > batch_size else size // 2
    parts: list[tuple[int, ProducerBatch]] = []
    for place, (timestamp, key, value, headers) in enumerate(_records(batch, size)):
        if parts and _append(parts[-1][1], timestamp, key, value, headers):
            continue
        write_limit = max(limit, upper_bound(key, value, headers))
        part = ProducerBatch(
            batch.topic, batch.partition, BatchLimits(write_limit, ratio), batch.created_ms, batch.push, batch.completed
        )
        _append(part, timestamp, key, value, headers)
        parts.append((place, part))
    for _, part in parts:
        part.close()
    return parts


def _append(batch: ProducerBatch, timestamp: int, key: bytes | None, value: bytes | None, headers: bytes) -> bool:
    record = timestamp, key, value, headers, batch.write_limit, batch.ratio, layout.MAX_FILE_BYTES
    while (place := kernels.append_record(batch.data, *record)) == Refused.SHORT_BUFFER:
        batch.data.extend(bytes(len(batch.data)))
    return place >= 0


def _records(batch: ProducerBatch, size: int) -> list[tuple[int, bytes | None, bytes | None, bytes]]:
    """Timestamps, keys, values and encoded headers of the batch's records, which are not compressed yet."""
    fields = layout.BATCH_HEADER.unpack_from(batch.data)
    header = BatchHeader(
        base_offset=0,
        partition_leader_epoch=layout.NO_LEADER_EPOCH,
        attributes=0,
        last_offset_delta=fields[6],
        base_timestamp=fields[7],
        max_timestamp=fields[8],
        size=size,
        magic=2,
        count=fields[12],
    )
    columns = Decoder().decode_one(memoryview(batch.data)[:size], header.to_table()[0])
    return [
        (record.timestamp, record.key, record.value, encode_headers(record.headers)) for record in to_records(columns)
    ]
