"""Writes the smallest parts of a message: lengths, numbers, strings, bytes, arrays of numbers.

A `Writer` is built for one field in one version: `writer(value, chunks)` appends the value's bytes, or raises
EncodingError with the field's name.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from octavo.errors import EncodingError
from octavo.format.messages.primitive_readers import MAX_STRING_BYTES, SHORT_ARRAY
from octavo.format.messages.schema import BOOL, RECORDS, STRING, UUID, Primitive
from octavo.format.varint import Bytes, encode_uvarint


class OpenFile(Protocol):
    """A file from which the operating system can send."""

    def fileno(self) -> int: ...


class Slice(Protocol):
    """Records that can be sent from a file without being read into this process; over TLS they are read."""

    @property
    def file(self) -> OpenFile: ...

    @property
    def position(self) -> int: ...

    @property
    def size(self) -> int: ...

    def read(self) -> bytes: ...


Chunks = list[Any]
"""Bytes, and slices of files in place of records."""
Writer = Callable[[Any, Chunks], None]
LengthWriter = Callable[[int], bytes]

_MAX_LENGTH = 0x7FFF_FFFF
_PACK_ERRORS = (struct.error, OverflowError, TypeError)


def is_number(kind: Primitive) -> bool:
    """Whether `struct` itself checks the value; it does not for a bool (any object) or a uuid (bytes of any length)."""
    return kind.layout is not None and kind not in (BOOL, UUID)


def length_writer(*, compact: bool, short: bool = False) -> LengthWriter:
    """A writer of a length or count, -1 for null: a uvarint one higher if compact, otherwise two or four bytes."""
    return (lambda length: encode_uvarint(length + 1)) if compact else struct.Struct(">h" if short else ">i").pack


def primitive_writer(kind: Primitive, path: str, *, compact: bool) -> Writer:
    """A writer of one value, which must not be null."""
    if kind is STRING:
        return _string_writer(path, length_writer(compact=compact, short=True))
    if kind.layout is None:
        return _bytes_writer(path, length_writer(compact=compact), takes_slices=kind is RECORDS)
    if kind is UUID:
        return _uuid_writer(path)
    return _bool_writer(path) if kind is BOOL else number_writer(kind, path)


def number_writer(kind: Primitive, path: str) -> Writer:
    """A writer of a fixed-size number."""
    pack = struct.Struct(f">{kind.layout}").pack

    def write(value: Any, out: Chunks) -> None:
        try:
            out.append(pack(value))
        except _PACK_ERRORS:
            raise EncodingError(f"{path} is {shown(value)}, which {kind.name} cannot hold") from None

    return write


def numbers_packer(kinds: Sequence[Primitive], paths: Sequence[str]) -> Callable[[Sequence[Any]], bytes]:
    """A writer of adjacent numbers, packed in one call; an error still names the offending one."""
    pack = struct.Struct(">" + "".join(str(kind.layout) for kind in kinds)).pack

    def pack_all(values: Sequence[Any]) -> bytes:
        try:
            return pack(*values)
        except _PACK_ERRORS:
            singles: Chunks = []
            for kind, path, value in zip(kinds, paths, values, strict=True):
                number_writer(kind, path)(value, singles)
            return b"".join(singles)

    return pack_all


def number_array_writer(kind: Primitive, path: str, length_of: LengthWriter) -> Writer:
    """A writer of an array of numbers, packed in one call."""
    packers = [numbers_packer([kind] * count, [path] * count) for count in range(SHORT_ARRAY)]

    def write(value: Any, out: Chunks) -> None:
        count = array_length(value, path)
        out.append(length_of(count))
        out.append((packers[count] if count < SHORT_ARRAY else numbers_packer([kind] * count, [path] * count))(value))

    return write


def array_length(value: Any, path: str) -> int:
    """The length of a value that must be a list or another sequence."""
    if not isinstance(value, list | tuple) and (not isinstance(value, Sequence) or isinstance(value, str | Bytes)):
        raise EncodingError(f"{path} is {type_name(value)}, not a list")
    return len(value)


def _bool_writer(path: str) -> Writer:
    def write(value: Any, out: Chunks) -> None:
        if not isinstance(value, bool):
            raise EncodingError(f"{path} is {type_name(value)}, not a bool")
        out.append(b"\x01" if value else b"\x00")

    return write


def _uuid_writer(path: str) -> Writer:
    def write(value: Any, out: Chunks) -> None:
        if not isinstance(value, bytes) or len(value) != 16:
            raise EncodingError(f"{path} is {type_name(value)}, not a uuid of 16 bytes")
        out.append(value)

    return write


def _string_writer(path: str, length_of: LengthWriter) -> Writer:
    def write(value: Any, out: Chunks) -> None:
        if not isinstance(value, str):
            raise EncodingError(f"{path} is {type_name(value)}, not a string")
        try:
            encoded = value.encode()
        except UnicodeEncodeError as error:
            raise EncodingError(f"{path} cannot be encoded as UTF-8: {error.reason}") from None
        if len(encoded) > MAX_STRING_BYTES:
            raise EncodingError(f"{path} has {len(encoded)} bytes, but a string may have at most {MAX_STRING_BYTES}")
        out.append(length_of(len(encoded)))
        out.append(encoded)

    return write


def _bytes_writer(path: str, length_of: LengthWriter, *, takes_slices: bool) -> Writer:
    def write(value: Any, out: Chunks) -> None:
        if takes_slices and hasattr(value, "size"):
            out += (length_of(value.size), value)
            return
        if not isinstance(value, Bytes):
            raise EncodingError(f"{path} is {type_name(value)}, not bytes")
        view = memoryview(value)
        if view.nbytes > _MAX_LENGTH:
            raise EncodingError(f"{path} has {view.nbytes} bytes, at most {_MAX_LENGTH} can be encoded")
        out.append(length_of(view.nbytes))
        out.append(value if view.c_contiguous else view.tobytes())

    return write


def shown(value: Any) -> str:
    """A value as quoted in error messages."""
    # Python refuses to print very long numbers.
    return (
        f"a number of {value.bit_length()} bits" if isinstance(value, int) and value.bit_length() > 64 else repr(value)
    )


def type_name(value: Any) -> str:
    """The type of a value, for error messages."""
    return "null" if value is None else type(value).__name__
