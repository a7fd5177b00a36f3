"""Kafka's generated messages as plain dicts: `decode` and `encode` for any schema, in any of its versions.

A row holds every field of the schema under Kafka's name; those that the version doesn't have hold their defaults.
Coders are compiled on first use and kept, up to a number that no set of real schemas reaches.
"""

from __future__ import annotations

from functools import lru_cache

from octavo.errors import CorruptionError, EncodingError
from octavo.format.messages.primitive_readers import Reader
from octavo.format.messages.primitive_writers import Chunks, Writer
from octavo.format.messages.reading import struct_reader
from octavo.format.messages.schema import Encoding, Message, Row
from octavo.format.messages.writing import struct_writer
from octavo.format.varint import Bytes

_MAX_CODERS = 4096


def decode(message: Message, version: int, data: Bytes) -> Row:
    """The message that `data` holds from its first byte to its last."""
    row, end = decode_prefix(message, version, data)
    if end != len(data):
        raise CorruptionError(f"{len(data) - end} bytes follow {message.name} version {version}", position=end)
    return row


def decode_prefix(message: Message, version: int, data: Bytes, position: int = 0) -> tuple[Row, int]:
    """The message that begins at `position`, and the position after it."""
    read = _reader(message, version)
    if read is None:
        raise CorruptionError(_unknown_version(message, version), position=position)
    return read(data, position)


def encode(message: Message, version: int, row: Row) -> bytes:
    """The bytes of a message; `decode` gives the row back, with the defaults of what it left out."""
    write = _writer(message, version)
    if write is None:
        raise EncodingError(_unknown_version(message, version))
    chunks: Chunks = []
    write(row, chunks)
    return b"".join(chunks)


@lru_cache(_MAX_CODERS)
def _reader(message: Message, version: int) -> Reader | None:
    if version not in message.versions:
        return None
    return struct_reader(message.fields, Encoding(version, version in message.flexible), message.name)


@lru_cache(_MAX_CODERS)
def _writer(message: Message, version: int) -> Writer | None:
    if version not in message.versions:
        return None
    return struct_writer(message.fields, Encoding(version, version in message.flexible), message.name)


def _unknown_version(message: Message, version: int) -> str:
    return f"{message.name} has no version {version}: {message.versions} are known"
