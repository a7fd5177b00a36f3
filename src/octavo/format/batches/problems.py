"""Turns a problem found by a kernel into the documented error."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from octavo import kernels
from octavo.errors import CorruptionError, CorruptRecordError, InvalidRecordError
from octavo.kernels.layout import (
    ATTRIBUTES_POSITION,
    BATCH_OVERHEAD,
    MESSAGE_MAGIC_POSITION,
    MIN_MESSAGE_SIZE,
    Code,
    Flaw,
)
from octavo.system.shown import count

if TYPE_CHECKING:
    from octavo.format.batches.header import BatchHeader

_CORRUPT = {Code.MESSAGE_TOO_SMALL, Code.MESSAGE_CRC_MISMATCH}

_SENTENCES = {
    Code.BROKEN_VARINT: "a varint that runs on too long or past the end of its record",
    Code.RECORD_BEYOND_END: "a record of {size}, which {do} not fit between its length and the end of the records",
    Code.RECORD_LENGTH_MISMATCH: "a record whose fields end {size} before the end that its length gives",
    Code.KEY_BEYOND_RECORD: "a key of {size} reaches beyond the end of its record",
    Code.VALUE_BEYOND_RECORD: "a value of {size} reaches beyond the end of its record",
    Code.NEGATIVE_HEADER_COUNT: "a record with {found} headers, expected 0 or more",
    Code.TOO_MANY_HEADERS: "a record with {found} headers, more than it has bytes left",
    Code.NEGATIVE_HEADER_KEY: "a header key of {size}, expected 0 or more",
    Code.HEADER_BEYOND_RECORD: "a header field of {size} reaches beyond the end of its record",
    Code.TRAILING_BYTES: "{size} {are} left after the last record that the batch declares, expected none",
    Code.NEGATIVE_COUNT: "a batch with {found} records, expected 0 or more",
    Code.TOO_MANY_RECORDS: "a batch that declares {found} records, more than its bytes can hold",
    Code.MESSAGE_TOO_SMALL: f"a message of {{size}}, expected at least {MIN_MESSAGE_SIZE}",
    Code.MESSAGE_CRC_MISMATCH: "a message whose CRC does not match the stored {found}",
    Code.NESTED_COMPRESSION: "a compressed message (codec {found}) inside a compressed one, expected a plain one",
    Code.EMPTY_MESSAGE_SET: "{size} without one whole message, expected at least one",
    Code.OFFSET_BELOW_INNER: "the last inner offset {found} is larger than the offset of the wrapper around it",
    Code.FIELD_BEYOND_MESSAGE: "a field of {size} reaches beyond the end of its message",
}


def problem_of(code: int, position: int, found: int, unpacked_from: int | None = None) -> CorruptionError:
    """The error for a kernel's code. With `unpacked_from` (a batch's position), `position` is in its unpacked bytes."""
    do, are = ("does", "is") if found == 1 else ("do", "are")
    sentence = _SENTENCES[Code(code)].format(found=found, size=count(found, "byte"), do=do, are=are)
    kind = CorruptRecordError if code in _CORRUPT else InvalidRecordError
    if unpacked_from is None:
        return kind(sentence, position=position)
    return kind(f"{sentence}, at byte {position} of what the batch unpacks to", position=unpacked_from)


def unreadable(header: BatchHeader) -> CorruptRecordError:
    """The error for a batch whose records are out of reach: Kafka's CorruptRecordException."""
    if header.flaws & Flaw.UNKNOWN_MAGIC:
        return CorruptRecordError(f"magic {header.magic}, expected 0, 1 or 2", position=header.position)
    sentence = f"a batch of {header.size} bytes, expected at least the {BATCH_OVERHEAD} of its header"
    return CorruptRecordError(sentence, position=header.position)


def crc_mismatch(data: memoryview, header: BatchHeader) -> CorruptRecordError:
    """The error for a batch or message in `data` with a wrong CRC."""
    entry = data[header.position : header.position + header.size]
    if header.magic < 2:
        computed = zlib.crc32(entry[MESSAGE_MAGIC_POSITION:])
    else:
        computed = kernels.crc32c(entry[ATTRIBUTES_POSITION:])
    sentence = f"a batch whose CRC is {computed}, expected the stored {header.crc}"
    return CorruptRecordError(sentence, position=header.position)
