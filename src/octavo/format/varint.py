"""Variable-length integers as Kafka writes them: unsigned for message encodings, zigzag for records.

This is for code that reads or writes an occasional number; the fast loops are in `octavo.kernels`. An encoding may be
longer than necessary; excess bits in its last byte are dropped, as in Kafka.
"""

from __future__ import annotations

from octavo.errors import EncodingError, InvalidRecordError
from octavo.kernels.reference.varint import BrokenVarintError, read_uvarint, write_uvarint
from octavo.system.shown import count

Bytes = bytes | bytearray | memoryview

MAX_VARINT_BYTES = 5
MAX_VARLONG_BYTES = 10

_ONE_BYTE = [bytes([n]) for n in range(128)]


def encode_uvarint(n: int) -> bytes:
    """Encode an unsigned 32-bit number: 7 bits per byte, lowest first, with the top bit set on all bytes but the
    last."""
    if 0 <= n < 128:
        return _ONE_BYTE[n]
    _demand(0 <= n < 1 << 32, n, "an unsigned 32-bit number")
    return write_uvarint(n)


def decode_uvarint(data: Bytes, position: int) -> tuple[int, int]:
    """The unsigned 32-bit number at `position`, and the position after it."""
    value, end = _decode(data, position, MAX_VARINT_BYTES)
    return value & 0xFFFF_FFFF, end


def encode_varint(n: int) -> bytes:
    """Encode a signed 32-bit number in zigzag form."""
    _demand(-(1 << 31) <= n < 1 << 31, n, "a signed 32-bit number")
    return write_uvarint((n << 1) ^ (n >> 31))


def decode_varint(data: Bytes, position: int) -> tuple[int, int]:
    """The signed 32-bit zigzag number at `position`, and the position after it."""
    value, end = _decode(data, position, MAX_VARINT_BYTES)
    value &= 0xFFFF_FFFF
    return (value >> 1) ^ -(value & 1), end


def decode_varlong(data: Bytes, position: int) -> tuple[int, int]:
    """The signed 64-bit zigzag number at `position`, and the position after it."""
    value, end = _decode(data, position, MAX_VARLONG_BYTES)
    value &= 0xFFFF_FFFF_FFFF_FFFF
    return (value >> 1) ^ -(value & 1), end


def _demand(holds: bool, n: int, expected: str) -> None:
    if not holds:
        # Python refuses to print very long numbers.
        shown = str(n) if n.bit_length() <= 128 else f"a number of {n.bit_length()} bits"
        raise EncodingError(f"{shown} is not {expected}")


def _decode(data: Bytes, position: int, max_bytes: int) -> tuple[int, int]:
    try:
        return read_uvarint(data, position, len(data), max_bytes)
    except BrokenVarintError:
        found = bytes(data[position : position + max_bytes])
    if len(found) < max_bytes:
        sentence = f"the data ends after {count(len(found), 'byte')} of a variable-length number"
    else:
        sentence = f"a variable-length number of more than {max_bytes} bytes: {found.hex()}"
    raise InvalidRecordError(sentence, position=position)
