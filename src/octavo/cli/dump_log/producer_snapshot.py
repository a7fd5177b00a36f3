"""Dumps `.snapshot` files: one line per producer."""

from __future__ import annotations

from octavo.cli.dump_log.java_file import JavaFile
from octavo.cli.dump_log.report import say
from octavo.format.sequence import decrement
from octavo.format.small_files.producer_snapshot import COUNT_POSITION, ENTRY, HEADER, VERSION, ProducerEntry
from octavo.kernels import crc32c
from octavo.system.regular_file import read_regular


class CorruptSnapshotError(Exception):
    """What is wrong with a snapshot, in Kafka's words, printed on stderr before continuing with the next file."""


def dump_producer_snapshot(file: JavaFile) -> None:
    content = read_regular(file.path)
    try:
        for entry in _entries(content):
            print(_line(entry))
    except CorruptSnapshotError as error:
        say(str(error))


def _entries(content: bytes) -> list[ProducerEntry]:
    """The producers, checked in Kafka's order, so that the same check fails first, with Kafka's text."""
    failed = "Snapshot failed schema validation: "
    version = int.from_bytes(content[:2], signed=True)
    if len(content) >= 2 and version != VERSION:
        raise CorruptSnapshotError(f"{failed}Snapshot contained an unknown file version {version}")
    if len(content) < HEADER.size:
        raise CorruptSnapshotError(f"{failed}null")
    _, crc, count = HEADER.unpack_from(content)
    left = len(content) - HEADER.size
    if count < 0:
        raise CorruptSnapshotError(f"{failed}non-nullable field producerEntries was serialized as null")
    if count > left:
        sentence = f"Tried to allocate a collection of size {count}, but there are only {left} bytes remaining."
        raise CorruptSnapshotError(failed + sentence)
    if count * ENTRY.size > left:
        raise CorruptSnapshotError(f"{failed}null")
    computed = crc32c(content[COUNT_POSITION:])
    if crc != computed:
        raise CorruptSnapshotError(
            f"Snapshot is corrupt (CRC is no longer valid). Stored crc: {crc}. Computed crc: {computed}"
        )
    body = content[HEADER.size : HEADER.size + count * ENTRY.size]
    return [ProducerEntry(*fields) for fields in ENTRY.view(body).tolist()]


def _line(entry: ProducerEntry) -> str:
    first_offset = entry.current_txn_first_offset
    open_txn = f"OptionalLong[{first_offset}]" if first_offset >= 0 else "OptionalLong.empty"
    line = (
        f"producerId: {entry.producer_id} producerEpoch: {entry.epoch} coordinatorEpoch: {entry.coordinator_epoch} "
        f"currentTxnFirstOffset: {open_txn} lastTimestamp: {entry.timestamp}"
    )
    if not entry.has_batch:
        return line
    first_sequence = decrement(entry.last_sequence, entry.offset_delta)
    return (
        f"{line} firstSequence: {first_sequence} lastSequence: {entry.last_sequence} "
        f"lastOffset: {entry.last_offset} offsetDelta: {entry.offset_delta} timestamp: {entry.timestamp}"
    )
