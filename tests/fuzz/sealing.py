"""Corrects checksums after a mutation, so that the input reaches the code after the checks."""

from __future__ import annotations

from random import Random

from octavo import kernels
from octavo.format.small_files import producer_snapshot
from octavo.kernels import layout
from tests.format.crafted import seal

LZ4_MAGIC = bytes.fromhex("04224d18")


def seal_log(random: Random, data: bytearray) -> None:
    """Correct the checksum of each entry while lengths can be followed, and sometimes a length that leads nowhere."""
    at = 0
    while len(data) - at > layout.HEADER_UP_TO_MAGIC:
        size = int.from_bytes(data[at + 8 : at + 12], signed=True)
        if not layout.MIN_MESSAGE_SIZE <= size <= len(data) - at - layout.LOG_OVERHEAD:
            size = len(data) - at - layout.LOG_OVERHEAD
            if size < layout.MIN_MESSAGE_SIZE or random.random() < 0.5:
                return
            data[at + 8 : at + 12] = size.to_bytes(4)
        end = at + layout.LOG_OVERHEAD + size
        seal(data, at, end)
        at = end


def seal_snapshot(random: Random, data: bytearray) -> None:
    """Correct the checksum of a producer snapshot, and in half of the cases its count."""
    if len(data) < producer_snapshot.HEADER.size:
        return
    if random.random() < 0.5:
        count = (len(data) - producer_snapshot.HEADER.size) // producer_snapshot.ENTRY.size
        data[producer_snapshot.COUNT_POSITION : producer_snapshot.HEADER.size] = count.to_bytes(4)
    checksum = kernels.crc32c(memoryview(data)[producer_snapshot.COUNT_POSITION :])
    data[producer_snapshot.CRC_POSITION : producer_snapshot.COUNT_POSITION] = checksum.to_bytes(4)


def seal_lz4(random: Random, data: bytearray) -> None:
    """Correct the header checksum of an lz4 frame: over the descriptor, or as in v0 over the magic too."""
    if len(data) < 15 or data[:4] != LZ4_MAGIC:
        return
    flags = data[4]
    end = 6 + (8 if flags & 8 else 0) + (4 if flags & 1 else 0)
    start = random.choice((0, 4, 4))
    if end < len(data):
        data[end] = kernels.xxh32(bytes(data[start:end])) >> 8 & 0xFF
