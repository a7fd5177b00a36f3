"""Converts messages to JSON as Kafka's generated converters do and its tools print it.

Fields come in the schema's order; fields absent from the version are left out, and so are tagged ones with their
default. A uuid is its text, bytes are base64, records are shown only by their size (`recordsSizeInBytes`), and
unknown tags are not shown.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from octavo.errors import EncodingError
from octavo.format.java.text import double_text
from octavo.format.kafka_uuid import to_text
from octavo.format.messages.defaults import default_test
from octavo.format.messages.schema import BYTES, RECORDS, UUID, Array, Field, MessageSchema, Row, Struct, Type

Converter = Callable[[Any], Any]

_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def json_value(message: MessageSchema, version: int, row: Row) -> dict[str, Any]:
    """A decoded message as a tree of JSON types."""
    if version not in message.versions:
        raise EncodingError(f"{message.name} has no version {version}; known: {message.versions}")
    value: dict[str, Any] = _message_converter(message, version)(row)
    return value


def json_text(value: Any) -> str:
    """A tree of JSON types as Kafka prints it: no blanks, numbers as in Java, non-ASCII text unescaped."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(name)}:{json_text(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    if isinstance(value, str):
        return _quoted(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return double_text(value) if math.isfinite(value) else _quoted(double_text(value))
    return str(value)


@cache
def _message_converter(message: MessageSchema, version: int) -> Converter:
    return _struct_converter(message.fields, version)


def _struct_converter(fields: tuple[Field, ...], version: int) -> Converter:
    parts = [
        (
            part.name,
            part.default,
            _converter(part.type, version),
            default_test(part) if version in part.tagged else None,
        )
        for part in fields
        if version in part.versions
    ]

    def convert(row: Any) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        for name, default, convert_value, is_default in parts:
            value = row[name] if name in row else default()
            if is_default is not None and is_default(value):
                continue
            if value is None:
                shown[name] = None
            elif convert_value is _size:
                shown[f"{name}SizeInBytes"] = _size(value)
            else:
                shown[name] = convert_value(value)
        return shown

    return convert


def _converter(kind: Type, version: int) -> Converter:
    if isinstance(kind, Struct):
        return _struct_converter(kind.fields, version)
    if isinstance(kind, Array):
        convert = _converter(kind.element, version)
        return lambda values: [convert(value) for value in values]
    return {UUID: to_text, BYTES: _base64, RECORDS: _size}.get(kind, _as_is)


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


def _size(value: bytes) -> int:
    return memoryview(value).nbytes


def _as_is(value: Any) -> Any:
    return value


def _quoted(text: str) -> str:
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT_ESCAPES.get(character) or f"\\u{ord(character):04X}"
