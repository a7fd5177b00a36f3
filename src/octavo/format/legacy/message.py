"""Reads v0 and v1 messages one by one, like Kafka's file reader: a field is read when it is needed.

A message with a damaged field still has the fields before it. This module loops over messages in plain Python; the
kernel that decodes whole message sets is stricter and faster.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from octavo.errors import CorruptRecordError, InvalidRecordError
from octavo.format.compression import decompress
from octavo.format.record import TimestampType
from octavo.kernels import layout
from octavo.kernels.integers import signed64


class FieldBeyondMessageError(InvalidRecordError):
    """A key or value that claims more bytes than its message has left."""

    def __init__(self, size: int, left: int) -> None:
        super().__init__(f"a field of {size} bytes in a message that has {left} left")
        self.size = size
        self.left = left


class Message:
    """A message in its log entry (after offset and size), as a view of the buffer it was read from.

    `wrapper` is the enclosing message, whose LogAppendTime overrides an inner v1 message's own timestamp.
    """

    __slots__ = ("entry", "offset", "wrapper")

    def __init__(self, entry: memoryview, offset: int | None = None, wrapper: Message | None = None) -> None:
        self.entry = entry
        self.offset: int = layout.ENTRY_PREFIX.unpack_from(entry)[0] if offset is None else offset
        self.wrapper = wrapper

    @property
    def magic(self) -> int:
        return self._integer(layout.MAGIC_POSITION, 1)

    @property
    def attributes(self) -> int:
        return self._integer(layout.MESSAGE_ATTRIBUTES_POSITION, 1)

    @property
    def codec_id(self) -> int:
        return self.attributes & layout.CODEC_MASK

    @property
    def crc(self) -> int:
        """The CRC as stored."""
        return self._integer(layout.MESSAGE_CRC_POSITION, 4) & 0xFFFF_FFFF

    @property
    def is_valid(self) -> bool:
        return self.crc == zlib.crc32(self.entry[layout.MESSAGE_MAGIC_POSITION :])

    @property
    def timestamp_type(self) -> TimestampType:
        return TimestampType.of(self.magic, self.attributes)

    @property
    def timestamp(self) -> int:
        if self.magic == 0:
            return layout.NO_TIMESTAMP
        # Only a v1 message gets the wrapper's time: a bug in a cleaner left messages of another magic inside wrappers.
        wrapper = self.wrapper if self.magic == 1 else None
        if wrapper is not None and wrapper.timestamp_type is TimestampType.LOG_APPEND_TIME:
            return wrapper.timestamp
        return self._integer(layout.MESSAGE_V0.size, 8)

    @property
    def key_size(self) -> int:
        """The stored size; negative means null."""
        return self._integer(self.key_position, 4)

    @property
    def value_size(self) -> int:
        """The stored size; negative means null. It may exceed the bytes that are there."""
        return self._integer(self.value_position, 4)

    @property
    def key(self) -> bytes | None:
        return self._sized(self.key_position)

    @property
    def value(self) -> bytes | None:
        return self._sized(self.value_position)

    @property
    def key_position(self) -> int:
        """The position of the key's length in the entry."""
        return layout.MESSAGE_V0.size if self.magic == 0 else layout.MESSAGE_V1.size

    @property
    def value_position(self) -> int:
        """The position of the value's length in the entry."""
        return self.key_position + 4 + max(self.key_size, 0)

    def _integer(self, position: int, size: int) -> int:
        if position + size > len(self.entry):
            expected = f"expected a field of {size} bytes at byte {position}"
            raise InvalidRecordError(f"a message of {len(self.entry)} bytes, {expected}")
        return int.from_bytes(self.entry[position : position + size], signed=True)

    def _sized(self, position: int) -> bytes | None:
        size, start = self._integer(position, 4), position + 4
        if size < 0:
            return None
        if size > len(self.entry) - start:
            raise FieldBeyondMessageError(size, len(self.entry) - start)
        return bytes(self.entry[start : start + size])


def read_messages(entry: memoryview, *, limit: int | None = None) -> Iterator[Message]:
    """The message of a log entry, or the messages it wraps, with their absolute offsets."""
    wrapper = Message(entry)
    if not wrapper.codec_id:
        yield wrapper
        return
    inner = list(inner_entries(unpack(wrapper, limit=limit)))
    if not inner:
        raise InvalidRecordError("a compressed message set without one whole message, expected at least one")
    base = _base_offset(wrapper, inner[-1])
    for found in inner:
        message = Message(found, wrapper=wrapper)
        if message.codec_id:
            raise InvalidRecordError(f"a compressed message (codec {message.codec_id}) inside a compressed one")
        message.offset = signed64(base + message.offset)
        yield message


def unpack(wrapper: Message, *, limit: int | None = None) -> memoryview:
    """The message set that a compressed message wraps."""
    if wrapper.magic not in (0, 1):
        raise InvalidRecordError(f"a compressed message of magic {wrapper.magic}, expected 0 or 1")
    value = wrapper.value
    if value is None:
        raise InvalidRecordError("a compressed message with a null value, expected a message set")
    return decompress(wrapper.codec_id, value, magic=wrapper.magic, limit=limit)


def inner_entries(data: memoryview) -> Iterator[memoryview]:
    """The complete entries of a message set; an incomplete one ends it."""
    at = 0
    while len(data) - at >= layout.LOG_OVERHEAD:
        _, size = layout.ENTRY_PREFIX.unpack_from(data, at)
        if size < layout.MIN_MESSAGE_SIZE:
            raise CorruptRecordError(f"an inner message of {size} bytes, expected at least {layout.MIN_MESSAGE_SIZE}")
        end = at + layout.LOG_OVERHEAD + size
        if end > len(data):
            return
        yield data[at:end]
        at = end


def _base_offset(wrapper: Message, last: memoryview) -> int:
    """The base of the inner offsets, which are absolute in a v0 wrapper."""
    # A wrapper offset of 0: some versions of librdkafka left all offsets to the broker. Inner ones are then absolute.
    if wrapper.magic == 0 or wrapper.offset == 0:
        return 0
    inner: int = layout.ENTRY_PREFIX.unpack_from(last)[0]
    if wrapper.offset < inner:
        raise InvalidRecordError(f"the wrapper's offset {wrapper.offset} is less than its last inner offset {inner}")
    return wrapper.offset - inner
