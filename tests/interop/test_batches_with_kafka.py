"""Kafka's own classes read the compressed batches of the golden archives after we have encoded them again."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from octavo.format.batches.batch import decode_batch
from octavo.format.batches.header import BatchHeader
from octavo.format.batches.walker import walk
from octavo.format.record import Header, Record
from tests.golden import archives
from tests.golden.encoding import encode_compressed

pytestmark = pytest.mark.kafka

SOUND = [name for name in archives.archives() if name not in {"v431-corrupt", "v431-torn"}]


def compressed_again(archive: str) -> Iterator[tuple[list[Record], bytes]]:
    """Each compressed batch: what a reader sees, and the batch as we encode it from its fields."""
    for path in archives.files(archive, "*.log*"):
        found = walk(path.read_bytes())
        for row in found.table:
            header = BatchHeader.from_row(row)
            if header.codec_id:
                _, seen = decode_batch(found.data, header.position)
                _, stored = decode_batch(found.data, header.position, stored_timestamps=True)
                yield seen, encode_compressed(header, stored)


def read_by_kafka(jvm: ModuleType, data: bytes) -> list[Record]:
    buffer = jvm.java.nio.ByteBuffer.wrap(jvm.JArray(jvm.JByte)(data))
    memory_records = jvm.JClass("org.apache.kafka.common.record.internal.MemoryRecords").readableRecords(buffer)
    read: list[Record] = []
    for batch in memory_records.batches():
        batch.ensureValid()
        read.extend(
            Record(
                int(record.offset()),
                int(record.timestamp()),
                java_bytes(record.key()),
                java_bytes(record.value()),
                tuple(Header(str(header.key()), array_bytes(header.value())) for header in record.headers()),
            )
            for record in batch
        )
    return read


def java_bytes(buffer: Any) -> bytes | None:
    if buffer is None:
        return None
    copy = buffer.duplicate()
    return bytes(copy.get() & 0xFF for _ in range(copy.remaining()))


def array_bytes(array: Any) -> bytes | None:
    return None if array is None else bytes(byte & 0xFF for byte in array)


@pytest.mark.parametrize("archive", SOUND)
def test_kafka_reads_the_same_records_from_batches_compressed_again(archive: str, jvm: ModuleType) -> None:
    for seen, again in compressed_again(archive):
        assert read_by_kafka(jvm, again) == seen
