"""Writes v0 and v1 messages and message sets, like brokers before 0.11; finds the set inside a compressed message."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from struct import error as StructError

from octavo.errors import EncodingError, InvalidRecordError, UnsupportedCompressionTypeError
from octavo.format.compression import Codec, compress
from octavo.format.record import Record
from octavo.kernels import layout


def encode_message(record: Record, magic: int, attributes: int = 0) -> bytes:
    """One log entry with a v0 or v1 message. Neither format has headers, and v0 has no timestamp."""
    if magic not in (0, 1):
        raise EncodingError(f"messages have magic 0 or 1, not {magic}")
    if record.headers:
        raise EncodingError(f"offset {record.offset}: a v{magic} message has no headers, found {len(record.headers)}")
    if magic == 0 and attributes & ~layout.CODEC_MASK:
        raise EncodingError(f"attributes {attributes:#04x}: a v0 message has codec bits only")
    fields = _field(record.key) + _field(record.value)
    header = layout.MESSAGE_V0 if magic == 0 else layout.MESSAGE_V1
    timestamp = () if magic == 0 else (record.timestamp,)
    size = header.size - layout.LOG_OVERHEAD + len(fields)
    try:
        entry = bytearray(header.pack(record.offset, size, 0, magic, attributes, *timestamp) + fields)
    except StructError as error:
        raise EncodingError(f"offset {record.offset}, attributes {attributes}: {error}") from None
    checksum = zlib.crc32(memoryview(entry)[layout.MESSAGE_MAGIC_POSITION :])
    entry[layout.MESSAGE_CRC_POSITION : layout.MESSAGE_MAGIC_POSITION] = checksum.to_bytes(4)
    return bytes(entry)


def encode_message_set(
    records: Sequence[Record],
    magic: int,
    *,
    codec: Codec = Codec.NONE,
    log_append_time: int | None = None,
    level: int | None = None,
    stamp_inner: bool = False,
) -> bytes:
    """The records as brokers stored them with this magic: one message each, or one compressed wrapper around them all.

    In v1, outer messages get `log_append_time`, if it is given, as their timestamp. Inner messages keep their own
    timestamps unless `stamp_inner` is set: then they carry the time and type too, as when a broker compresses the set
    itself.
    """
    append_time = log_append_time if magic == 1 else None
    type_bit = 0 if append_time is None else layout.LOG_APPEND_TIME
    inner_bit = 0
    if append_time is not None and (stamp_inner or codec is Codec.NONE):
        records = [record._replace(timestamp=append_time) for record in records]
        inner_bit = type_bit
    if codec is Codec.NONE:
        return b"".join(encode_message(record, magic, inner_bit) for record in records)
    if codec is Codec.ZSTD:
        raise UnsupportedCompressionTypeError(f"zstd is for v2 batches only, found magic {magic}")
    if not records:
        raise EncodingError("a compressed message set without a record, expected at least one")
    # v0 inner offsets are absolute; v1 offsets are relative to the first, so that a broker need not recompress to
    # assign offsets.
    first = records[0].offset if magic == 1 else 0
    relative = (record._replace(offset=record.offset - first) for record in records)
    inner = b"".join(encode_message(record, magic, inner_bit) for record in relative)
    timestamp = max(record.timestamp for record in records) if append_time is None else append_time
    wrapper = Record(records[-1].offset, timestamp, None, compress(codec, inner, level=level, magic=magic))
    return encode_message(wrapper, magic, codec | type_bit)


def wrapped_value(view: memoryview, start: int, end: int) -> tuple[int, int]:
    """Where the wrapper's value, the compressed message set, begins and ends in `view`."""
    header = layout.MESSAGE_V0 if view[start + layout.MAGIC_POSITION] == 0 else layout.MESSAGE_V1
    key_length, at = _length(view, start + header.size, end)
    if key_length > end - at:
        sentence = f"a key of {key_length} bytes in a message that has {end - at} left"
        raise InvalidRecordError(sentence, position=at - 4)
    value_length, at = _length(view, at + max(key_length, 0), end)
    if value_length < 0:
        raise InvalidRecordError("a compressed message with a null value, expected a message set", position=at - 4)
    if value_length > end - at:
        sentence = f"a value of {value_length} bytes in a message that has {end - at} left"
        raise InvalidRecordError(sentence, position=at - 4)
    return at, at + value_length


def _field(value: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if value is None else len(value).to_bytes(4) + value


def _length(view: memoryview, at: int, end: int) -> tuple[int, int]:
    if at + 4 > end:
        raise InvalidRecordError(f"a message with {max(end - at, 0)} bytes left where a length needs 4", position=at)
    return int.from_bytes(view[at : at + 4], signed=True), at + 4
