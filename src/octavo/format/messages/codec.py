"""Kafka's generated messages as plain dicts: `decode` and `encode` for any schema, in any of its versions.

A row holds every field of the schema under Kafka's name; fields that the version doesn't have hold their defaults.
Coders are built on first use and kept for the life of the process: schemas are module constants. If the kernels are
compiled, they read and write the usual messages; the coders of `reading` and `writing` handle the others.
"""

from __future__ import annotations

from functools import cache
from typing import Protocol

from octavo import kernels
from octavo.errors import CorruptionError, EncodingError
from octavo.format.messages.plans import struct_plan
from octavo.format.messages.primitive_readers import Reader
from octavo.format.messages.primitive_writers import Chunks, Slice, Writer
from octavo.format.messages.reading import struct_reader
from octavo.format.messages.schema import Encoding, MessageSchema, Row
from octavo.format.messages.writing import struct_writer
from octavo.format.varint import Bytes

Part = bytes | Slice
_LENGTH_BYTES = 4


class PartsWriter(Protocol):
    """Writes a row as parts. The head, if there is one, comes first: its first four bytes become the size of what
    follows them."""

    def __call__(self, row: Row, head: bytes = b"") -> list[Part]: ...


def decode(message: MessageSchema, version: int, data: Bytes) -> Row:
    """Decode the message that fills `data` from the first byte to the last."""
    row, end = decode_prefix(message, version, data)
    check_end(data, end, f"{message.name} version {version}")
    return row


def check_end(data: Bytes, end: int, what: str) -> None:
    """Raise if bytes are left after a message that ends here."""
    left = len(data) - end
    if left:
        are_left = "byte is left" if left == 1 else "bytes are left"
        raise CorruptionError(f"{left} {are_left} after {what}, expected none", position=end)


def decode_prefix(
    message: MessageSchema, version: int, data: Bytes, position: int = 0, *, lenient: bool = False
) -> tuple[Row, int]:
    """Decode the message that begins at `position`; also returns the position after it.

    `lenient` makes the reader as lenient as Kafka's own, for a tool that shows damaged bytes as Kafka does. Text that
    isn't UTF-8 then contains U+FFFD, a negative length or mark means null, tags may come in any order and their sizes
    are not checked. Encoding such a row may give other bytes.
    """
    try:
        read = _reader(message, version, lenient)
    except _UnknownVersionError as error:
        raise CorruptionError(str(error), position=position) from None
    return read(data, position)


def encode(message: MessageSchema, version: int, row: Row) -> bytes:
    """Encode a message; a field missing from the row gets its default."""
    try:
        write = _writer(message, version)
    except _UnknownVersionError as error:
        raise EncodingError(str(error)) from None
    chunks: Chunks = write(row)
    return b"".join(chunks)


def prefix_reader_of(message: MessageSchema, version: int) -> Reader:
    """`decode_prefix` for one version, for a caller that reads many such messages."""
    return _reader(message, version, False)


def parts_writer_of(message: MessageSchema, version: int) -> PartsWriter:
    """`encode` for one version, for messages whose records may be slices of files: slices stay as they are, and the
    bytes between them are joined."""
    return _writer(message, version)


class _UnknownVersionError(Exception):
    """Raised rather than returned, since a cache doesn't keep errors: damaged data must not fill it with versions that
    don't exist."""


@cache
def _reader(message: MessageSchema, version: int, lenient: bool) -> Reader:
    encoding = _encoding(message, version, lenient)
    plain = struct_reader(message.fields, encoding, message.name)
    return plain if lenient else kernels.message_reader(struct_plan(message.fields, encoding), plain)


@cache
def _writer(message: MessageSchema, version: int) -> PartsWriter:
    encoding = _encoding(message, version)
    plain = parts_writer(struct_writer(message.fields, encoding, message.name))
    return kernels.message_writer(struct_plan(message.fields, encoding), plain)


def parts_writer(write: Writer) -> PartsWriter:
    """A writer of parts: everything between two slices of files is joined."""

    def write_parts(row: Row, head: bytes = b"") -> list[Part]:
        chunks: Chunks = []
        write(row, chunks)
        if head:
            size = len(head) + sum(len(chunk) if isinstance(chunk, Bytes) else chunk.size for chunk in chunks)
            chunks.insert(0, (size - _LENGTH_BYTES).to_bytes(_LENGTH_BYTES) + head[_LENGTH_BYTES:])
        parts: list[Part] = []
        start = 0
        for place, chunk in enumerate(chunks):
            if not isinstance(chunk, Bytes):
                parts += (b"".join(chunks[start:place]), chunk)
                start = place + 1
        parts.append(b"".join(chunks[start:]))
        return parts

    return write_parts


def _encoding(message: MessageSchema, version: int, lenient: bool = False) -> Encoding:
    if version not in message.versions:
        raise _UnknownVersionError(f"{message.name} has no version {version}; known: {message.versions}")
    return Encoding(version, version in message.flexible, lenient)
