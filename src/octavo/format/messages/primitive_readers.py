"""Reads the smallest parts of a message: lengths, strings, bytes, arrays of fixed-size numbers.

A `…_reader` function builds a reader for one field in one version: `reader(data, position) -> (value, next position)`.
`path` names the field in error messages. A length is checked against the remaining bytes before anything is allocated.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from octavo.errors import CorruptionError
from octavo.format.java.utf8 import decode_utf8
from octavo.format.messages.schema import BYTES, RECORDS, STRING, UUID, Primitive
from octavo.format.varint import MAX_VARINT_BYTES, Bytes, decode_uvarint
from octavo.kernels.integers import signed32
from octavo.system.shown import count as counted

Reader = Callable[[Bytes, int], tuple[Any, int]]
LengthReader = Callable[[Bytes, int], tuple[int, int]]

MAX_STRING_BYTES = 0x7FFF  # in both encodings: a Java short
NULL = -1

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
SHORT_ARRAY = 16  # arrays below this length have a prepared layout


class UnreadableMessageError(CorruptionError):
    """A message that ends too soon, or holds an invalid value.

    `kafka_reason` is what Kafka's own reader says, for tools that print it; `null` if it gives no reason.
    """

    def __init__(self, problem: str, *, position: int, kafka_reason: str = "null") -> None:
        super().__init__(problem, position=position)
        self.kafka_reason = kafka_reason


def truncated(path: str, position: int, needed: int, data: Bytes, kafka_reason: str = "null") -> CorruptionError:
    """The error for a value that needs more bytes than remain."""
    left = max(0, len(data) - position)
    problem = f"{path} needs {counted(needed, 'byte')}, {left} {'is' if left == 1 else 'are'} left"
    return UnreadableMessageError(problem, position=position, kafka_reason=kafka_reason)


def too_many_elements(path: str, count: int, needed: int, position: int, data: Bytes) -> CorruptionError:
    """The error for an array that needs more bytes than remain."""
    left = len(data) - position
    said = f"Tried to allocate a collection of size {count}, but there are only {left} bytes remaining."
    return truncated(f"{path} with {count} elements", position, needed, data, said if count > left else "null")


def uvarint(data: Bytes, position: int, path: str) -> tuple[int, int]:
    """The unsigned varint at `position`; its error names the field."""
    try:
        return decode_uvarint(data, position)
    except CorruptionError as error:
        problem, said = f"{path}: {error.problem}", _long_varint_reason(data[position : position + MAX_VARINT_BYTES])
        raise UnreadableMessageError(problem, position=position, kafka_reason=said) from None


def _long_varint_reason(found: Bytes) -> str:
    if len(found) < MAX_VARINT_BYTES:
        return "null"
    value = sum((byte & 0x7F) << 7 * index for index, byte in enumerate(found)) & 0xFFFF_FFFF
    return f"Varint is too long, the most significant bit in the 5th byte is set, converted value: {value:x}"


def length_reader(path: str, *, flexible: bool, short: bool, nullable: bool, lenient: bool = False) -> LengthReader:
    """A reader of the length of a string, bytes or array; -1 means null. `short`: in two bytes, unless flexible."""
    if flexible:
        return _compact_length_reader(path, nullable, lenient)
    return _fixed_length_reader(path, short, nullable, lenient)


def _compact_length_reader(path: str, nullable: bool, lenient: bool) -> LengthReader:
    def read(data: Bytes, position: int) -> tuple[int, int]:
        if position < len(data) and 0 < (byte := data[position]) < 128:
            return byte - 1, position + 1
        value, start = uvarint(data, position, path)
        if value == 0 or (lenient and signed32(value - 1) < 0):
            if not nullable:
                raise _unexpected_null(path, position)
            return NULL, start
        return value - 1, start

    return read


def _fixed_length_reader(path: str, short: bool, nullable: bool, lenient: bool) -> LengthReader:
    layout = _INT16 if short else _INT32
    unpack, width = layout.unpack_from, layout.size

    def read(data: Bytes, position: int) -> tuple[int, int]:
        try:
            length: int = unpack(data, position)[0]
        except struct.error:
            raise truncated(f"the length of {path}", position, width, data) from None
        if length < 0:
            if length < NULL and not lenient:
                raise CorruptionError(f"{path} has the length {length}, expected -1 (null) or more", position=position)
            if not nullable:
                raise _unexpected_null(path, position)
            length = NULL
        return length, position + width

    return read


def _unexpected_null(path: str, position: int) -> CorruptionError:
    said = f"non-nullable field {_field_name(path)} was serialized as null"
    return UnreadableMessageError(
        f"{path} is null, which this version doesn't allow", position=position, kafka_reason=said
    )


def _field_name(path: str) -> str:
    return path.rpartition(".")[2]


def fixed_reader(kind: Primitive, path: str) -> Reader:
    """A reader of one value of fixed size."""
    assert kind.layout is not None
    layout = struct.Struct(f">{kind.layout}")
    unpack, width = layout.unpack_from, layout.size

    def read(data: Bytes, position: int) -> tuple[Any, int]:
        try:
            return unpack(data, position)[0], position + width
        except struct.error:
            raise truncated(path, position, width, data) from None

    return read


def variable_reader(kind: Primitive, path: str, *, flexible: bool, nullable: bool, lenient: bool = False) -> Reader:
    """A reader of a string, bytes, or records (a view into the data, to avoid copying a produced batch)."""
    length_of = length_reader(path, flexible=flexible, short=kind is STRING, nullable=nullable, lenient=lenient)
    text = _lenient_text if lenient else _text
    cut: Callable[[Bytes, int, int], Any] = {STRING: text, BYTES: _copy, RECORDS: _view}[kind]
    longest = MAX_STRING_BYTES if kind is STRING else None

    def read(data: Bytes, position: int) -> tuple[Any, int]:
        length, start = length_of(data, position)
        if length == NULL:
            return None, start
        if longest is not None and length > longest:
            raise UnreadableMessageError(
                f"{path} has {length} bytes, but a string may have at most {longest}",
                position=position,
                kafka_reason=f"string field {_field_name(path)} had invalid length {length}",
            )
        end = start + length
        if end > len(data):
            left = len(data) - start
            said = f"Error reading byte array of {length} byte(s): only {left} byte(s) available"
            raise truncated(path, start, length, data, said)
        try:
            return cut(data, start, end), end
        except UnicodeDecodeError as error:
            raise CorruptionError(f"{path} is not UTF-8: {error.reason}", position=start + error.start) from None

    return read


def fixed_array_reader(kind: Primitive, path: str, length_of: LengthReader) -> Reader:
    """A reader of an array of fixed-size values, unpacked in one call."""
    assert kind.layout is not None
    width = struct.calcsize(f">{kind.layout}")
    # A count in front of "16s" would be read as part of the 16.
    many: Callable[[int], str] = "16s".__mul__ if kind is UUID else lambda count: f"{count}{kind.layout}"
    layouts = [struct.Struct(f">{kind.layout * count}") for count in range(SHORT_ARRAY)]

    def read(data: Bytes, position: int) -> tuple[Any, int]:
        count, start = length_of(data, position)
        if count == NULL:
            return None, start
        end = start + count * width
        if end > len(data):
            raise too_many_elements(path, count, count * width, start, data)
        layout = layouts[count] if count < SHORT_ARRAY else struct.Struct(f">{many(count)}")
        return list(layout.unpack_from(data, start)), end

    return read


def _text(data: Bytes, start: int, end: int) -> str:
    return str(data[start:end], "utf-8")


def _lenient_text(data: Bytes, start: int, end: int) -> str:
    return decode_utf8(bytes(data[start:end]))


def _copy(data: Bytes, start: int, end: int) -> bytes:
    return bytes(data[start:end])


def _view(data: Bytes, start: int, end: int) -> memoryview:
    return memoryview(data)[start:end]
