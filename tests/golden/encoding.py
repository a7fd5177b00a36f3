"""A compressed batch of an archive, encoded again from its decoded fields."""

from __future__ import annotations

from octavo.format.batches.header import BatchHeader
from octavo.format.compression import Codec
from octavo.format.legacy.message_set import encode_message_set
from octavo.format.record import Record, TimestampType
from tests.format.exact_batches import encode_batch


def encode_compressed(header: BatchHeader, records: list[Record]) -> bytes:
    """The batch or wrapper with this header; its records have the timestamps that it stores."""
    if header.magic == 2:
        return encode_batch(header, records)
    appended = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    append_time = header.max_timestamp if appended else None
    return encode_message_set(records, header.magic, codec=Codec(header.codec_id), log_append_time=append_time)
