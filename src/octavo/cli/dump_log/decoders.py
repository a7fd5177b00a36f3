"""What is printed after `key: ` and `payload: `: text and numbers, or the records of internal topics."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from importlib import import_module
from typing import cast

from octavo.cli.dump_log.options import STRING_DECODER, Options
from octavo.errors import InvalidRecordError, OctavoError
from octavo.format.java.utf8 import decode_utf8
from octavo.format.legacy.message import Message
from octavo.format.record import Record

PayloadDecoder = Callable[[Record | Message], tuple[str | None, str | None]]
"""Turns a record into the texts of its key and payload; None is not printed at all."""

BytesDecoder = Callable[[bytes], str]


def is_plain(options: Options) -> bool:
    """Whether key and payload are shown as text."""
    classes = {options.value("key-decoder-class"), options.value("value-decoder-class")}
    return options.topic_decoder is None and classes == {STRING_DECODER}


def payload_decoder(options: Options) -> PayloadDecoder:
    """The decoder that the flags select; those of internal topics are imported only if needed."""
    topic = options.topic_decoder
    if topic is not None:
        return cast("PayloadDecoder", import_module("octavo.cli.dump_log.topic_decoders").TOPIC_DECODERS[topic])
    decode_value = _class(options.value("value-decoder-class"))
    decode_key = _class(options.value("key-decoder-class"))

    def decode(record: Record | Message) -> tuple[str | None, str | None]:
        key, value = record.key, record.value
        return None if key is None else decode_key(key), None if value is None else decode_value(value)

    return decode


def _class(name: str) -> BytesDecoder:
    decoder = _CLASSES.get(name)
    if decoder is None:
        raise OctavoError(f"no decoder class {name}, expected one of {', '.join(_CLASSES)}")
    return decoder


def _object_text(content: bytes) -> str:
    """Java prints a byte array as its type and its identity hash, which differs from run to run; here a hash of its
    content takes that place."""
    return f"[B@{zlib.crc32(content):x}"


def _integer(layout: str) -> BytesDecoder:
    unpack_from, size = struct.Struct(layout).unpack_from, struct.calcsize(layout)

    def decode(content: bytes) -> str:
        if len(content) < size:
            raise InvalidRecordError(f"{len(content)} bytes to decode as a number, expected at least {size}")
        return str(unpack_from(content)[0])

    return decode


_CLASSES: dict[str, BytesDecoder] = {
    STRING_DECODER: decode_utf8,
    "org.apache.kafka.tools.api.DefaultDecoder": _object_text,
    "org.apache.kafka.tools.api.IntegerDecoder": _integer(">i"),
    "org.apache.kafka.tools.api.LongDecoder": _integer(">q"),
}
