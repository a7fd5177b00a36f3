"""The line of a record in pieces, as Kafka prints it: after a failure the pieces before it are still printed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.cli.dump_log.batch_line import timestamp_type
from octavo.format.java.utf8 import decode_utf8
from octavo.format.legacy.message import Message
from octavo.format.record import Header, Record
from octavo.format.sequence import record_sequence
from octavo.kernels.integers import signed64

if TYPE_CHECKING:
    from octavo.cli.dump_log.decoders import PayloadDecoder
    from octavo.format.batches.batch_row import BatchRow

INDENT = "| "


@dataclass(frozen=True)
class RecordFormat:
    """What a record's line consists of; without a `decoder`, neither key nor payload is shown. `plain`: if they are
    shown, it is as text."""

    metadata: bool
    decoder: PayloadDecoder | None
    plain: bool


def record_line(batch: BatchRow, record: Record | Message, form: RecordFormat) -> Iterator[str]:
    """The pieces of a line, including its end."""
    if form.metadata:
        yield from _metadata(batch, record)
    if form.decoder is not None and not batch.is_control:
        key, payload = form.decoder(record)
        lead = " " if form.metadata else INDENT
        if key is not None:
            yield f"{lead}key: {key}"
            lead = " "
        if payload is not None:
            yield f"{lead}payload: {payload}"
    yield "\n"


def _metadata(batch: BatchRow, record: Record | Message) -> Iterator[str]:
    start = f"{INDENT}offset: {record.offset} {timestamp_type(batch)}: {record.timestamp}"
    if isinstance(record, Message):
        yield f"{start} keySize: {record.key_size} valueSize: {record.value_size}"
        yield f" isValid: {'true' if record.is_valid else 'false'} crc: {record.crc}"
        return
    sequence = record_sequence(batch.base_sequence, signed64(record.offset - batch.base_offset))
    keys = ",".join(map(_header_key, record.headers)) if record.headers else ""
    yield (
        f"{start} keySize: {_size(record.key)} valueSize: {_size(record.value)} "
        f"sequence: {sequence} headerKeys: [{keys}]"
    )
    if batch.is_control:
        # Imported here, because the schemas of control records take a while to import.
        from octavo.cli.dump_log.control_text import control_text

        yield control_text(record.key, record.value)


def _size(content: bytes | None) -> int:
    return -1 if content is None else len(content)


def _header_key(header: Header) -> str:
    return decode_utf8(header.key.encode("utf-8", "surrogateescape"))
