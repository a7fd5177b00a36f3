"""Batches with headers that no producer writes, but with a correct CRC."""

from __future__ import annotations

from octavo import kernels
from octavo.kernels.layout import ATTRIBUTES_POSITION, BATCH_FIELDS, BATCH_HEADER, BATCH_OVERHEAD, CRC_POSITION


def crafted(batch: bytes, **fields: int) -> bytes:
    """A v2 batch with other header fields, by their names in Kafka."""
    header = dict(zip(BATCH_FIELDS, BATCH_HEADER.unpack_from(batch), strict=True)) | fields
    return sealed(BATCH_HEADER.pack(*header.values()) + batch[BATCH_OVERHEAD:])


def sealed(batch: bytes) -> bytes:
    """A v2 batch with the right CRC for its bytes."""
    covered = batch[ATTRIBUTES_POSITION:]
    return batch[:CRC_POSITION] + kernels.crc32c(covered).to_bytes(4) + covered
