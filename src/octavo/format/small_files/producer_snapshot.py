"""The producer snapshot `.snapshot`: the state of a partition's producers as of the offset in the file's name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.errors import CorruptionError
from octavo.format.entry_layout import EntryLayout
from octavo.kernels.layout import big_endian
from octavo.system.shown import count as counted

if TYPE_CHECKING:
    from typing_extensions import Buffer

VERSION = 1

HEADER_FIELDS = {"version": "h", "crc": "I", "count": "i"}
HEADER = big_endian(HEADER_FIELDS)
CRC_POSITION = 2
COUNT_POSITION = 6  # the CRC-32C covers everything from here to the end

ENTRY = EntryLayout(
    producer_id="int64",
    epoch="int16",
    last_sequence="int32",
    last_offset="int64",
    offset_delta="int32",
    timestamp="int64",
    coordinator_epoch="int32",
    current_txn_first_offset="int64",
)


class ProducerEntry(NamedTuple):
    """A producer with its last batch. -1 means none, but without a batch `offset_delta` is 0."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int  # the batch's last offset minus its first
    timestamp: int
    coordinator_epoch: int
    current_txn_first_offset: int

    @property
    def has_batch(self) -> bool:
        """Whether the producer's last batch is known, so that the next sequence can be compared with it."""
        return self.last_offset >= 0


def decode(data: Buffer) -> list[ProducerEntry]:
    """The producers in file order, which has no meaning."""
    return [ProducerEntry(*fields) for fields in decode_table(data).tolist()]


def decode_table(data: Buffer) -> NDArray[np.void]:
    """The producers as a read-only array of `ENTRY`s."""
    content = memoryview(data).cast("B")
    if len(content) < HEADER.size:
        raise CorruptionError(
            f"producer snapshot of {counted(len(content), 'byte')}, expected {HEADER.size} or more", position=0
        )
    version, crc, count = HEADER.unpack_from(content)
    if version != VERSION:
        raise CorruptionError(f"producer snapshot of version {version}, expected {VERSION}", position=0)
    entries = content[HEADER.size :]
    if not 0 <= count <= len(entries) // ENTRY.size:
        raise CorruptionError(
            f"producer snapshot of {count} entries, but {len(entries)} bytes follow ({ENTRY.size} per entry)",
            position=COUNT_POSITION,
        )
    computed = kernels.crc32c(content[COUNT_POSITION:])
    if crc != computed:
        raise CorruptionError(
            f"producer snapshot is corrupt: stored crc {crc}, computed crc {computed}", position=CRC_POSITION
        )
    # Bytes after the last entry are accepted, as in Kafka: the CRC covers them.
    return ENTRY.view(entries[: count * ENTRY.size])


def is_torn(data: Buffer) -> bool:
    """Whether a snapshot ends before the end of its last entry, as after an interrupted write."""
    content = memoryview(data).cast("B")
    if len(content) < HEADER.size:
        return True
    _, _, count = HEADER.unpack_from(content)
    return bool(count > (len(content) - HEADER.size) // ENTRY.size)


def encode(producers: Iterable[ProducerEntry]) -> bytes:
    return _framed(b"".join(ENTRY.pack(*producer) for producer in producers))


def encode_table(producers: NDArray[np.void]) -> bytes:
    """The file's bytes, from an array of `ENTRY`s."""
    return _framed(producers.tobytes())


def _framed(entries: bytes) -> bytes:
    count = len(entries) // ENTRY.size
    crc = kernels.crc32c(HEADER.pack(VERSION, 0, count)[COUNT_POSITION:] + entries)
    return HEADER.pack(VERSION, crc, count) + entries
