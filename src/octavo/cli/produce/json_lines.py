"""Reads records from JSON lines, as `octavo cat` prints them."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from octavo.cli.produce.lines import Input, InputError

# Converts the printed form of a key or value back to its bytes.
Read = Callable[[str], bytes]

FORMS: dict[str, Read] = {
    "text": lambda text: text.encode("utf-8"),
    "base64": lambda text: base64.b64decode(text, validate=True),
    "hex": bytes.fromhex,
}
_FIELDS = {"topic", "partition", "offset", "timestamp", "timestampType", "key", "value", "headers"}
_NO_TIMESTAMP = -1


def read_json(lines: Iterable[bytes], shown: str) -> Iterator[Input]:
    """One record per object; its topic, offset and timestampType are ignored. Blank lines are skipped."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            fields = json.loads(line.rstrip())  # a line break would count as the next line
        except json.JSONDecodeError as error:
            raise InputError(f"line {number}, column {error.colno}: not JSON: {error.msg}") from None
        except ValueError as error:
            raise InputError(f"line {number}: not JSON: {error}") from None
        if not isinstance(fields, dict):
            raise InputError(f"line {number}: {_kind(fields)}, expected an object")
        unknown = fields.keys() - _FIELDS
        if unknown:
            known = ", ".join(sorted(_FIELDS))
            raise InputError(f"line {number}: unknown field {min(unknown)!r}; known fields are {known}")
        yield _record(fields, FORMS[shown], number)


def _record(fields: dict[str, Any], read: Read, number: int) -> Input:
    timestamp = _integer(fields, "timestamp", number)
    return Input(
        _content(fields.get("key"), read, number, "the key"),
        _content(fields.get("value"), read, number, "the value"),
        tuple(_headers(fields.get("headers") or [], read, number)),
        _integer(fields, "partition", number),
        None if timestamp == _NO_TIMESTAMP else timestamp,
        number,
    )


def _headers(found: object, read: Read, number: int) -> Iterator[tuple[str, bytes | None]]:
    if not isinstance(found, list):
        raise InputError(f'line {number}: headers are {_kind(found)}, expected a list of {{"key", "value"}}')
    for place, header in enumerate(found, 1):
        if not isinstance(header, dict):
            raise InputError(f'line {number}: header {place} is {_kind(header)}, expected an object {{"key", "value"}}')
        if not isinstance(header.get("key"), str):
            raise InputError(
                f"line {number}: header {place} has {_kind(header.get('key'))} as its key, expected a string"
            )
        yield header["key"], _content(header.get("value"), read, number, f"the value of header {place}")


def _content(found: object, read: Read, number: int, what: str) -> bytes | None:
    if found is None:
        return None
    try:
        if isinstance(found, dict) and found.keys() == {"base64"}:
            return base64.b64decode(found["base64"], validate=True)
        if isinstance(found, str):
            return read(found)
    except (ValueError, TypeError, binascii.Error) as error:
        raise InputError(f"line {number}: {what} cannot be read: {error}") from None
    raise InputError(f'line {number}: {what} is {_kind(found)}, expected a string, null or {{"base64": "…"}}')


def _integer(fields: dict[str, Any], name: str, number: int) -> int | None:
    found = fields.get(name)
    if found is None or (isinstance(found, int) and not isinstance(found, bool)):
        return found
    shown = found if isinstance(found, float) else _kind(found)
    raise InputError(f"line {number}: {name} is {shown}, expected a whole number")


def _kind(found: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return kinds.get(type(found), "null")
