"""Batches that no producer writes, but with a correct CRC."""

from __future__ import annotations

import zlib

from octavo import kernels
from octavo.kernels import layout


def crafted(batch: bytes, **fields: int) -> bytes:
    """A v2 batch with other header fields, by their names in Kafka."""
    header = dict(zip(layout.BATCH_FIELDS, layout.BATCH_HEADER.unpack_from(batch), strict=True)) | fields
    return sealed(layout.BATCH_HEADER.pack(*header.values()) + batch[layout.BATCH_OVERHEAD :])


def sealed(batch: bytes | bytearray) -> bytes:
    """A batch or message with the right CRC for its bytes."""
    content = bytearray(batch)
    seal(content, 0, len(content))
    return bytes(content)


def seal(data: bytearray, start: int, end: int) -> None:
    """Correct the CRC of the batch or message between two positions, if there is room for one."""
    if data[start + layout.MAGIC_POSITION] < 2:
        checksum = zlib.crc32(memoryview(data)[start + layout.MESSAGE_MAGIC_POSITION : end])
        data[start + layout.LOG_OVERHEAD : start + layout.MESSAGE_MAGIC_POSITION] = checksum.to_bytes(4)
    elif end - start >= layout.BATCH_OVERHEAD:
        checksum = kernels.crc32c(memoryview(data)[start + layout.ATTRIBUTES_POSITION : end])
        data[start + layout.CRC_POSITION : start + layout.ATTRIBUTES_POSITION] = checksum.to_bytes(4)
