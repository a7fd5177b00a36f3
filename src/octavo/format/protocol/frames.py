"""Requests and responses with their headers. A broker's responses are parts to send: buffers, and slices of files.

A frame is an int32 length and that many bytes; the functions that read one get it without the length. A request's
header is version 2 (with a tagged section) if the body is flexible, otherwise version 1; its client id is never
compact. A response's header has a tagged section if the body is flexible, except in the response to ApiVersions, which
a client reads before it knows what the broker supports.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import NamedTuple

from octavo.errors import CorruptionError
from octavo.format.messages.codec import Part, decode, parts_writer_of, prefix_reader_of
from octavo.format.messages.schema import Row
from octavo.format.protocol.apis import API_VERSIONS, Api
from octavo.format.varint import Bytes, decode_uvarint
from octavo.system.shown import count

_HEAD = struct.Struct(">hhih")  # api key, api version, correlation id, length of the client id
_HEAD_BYTES = _HEAD.size
_RESPONSE_HEAD = struct.Struct(">ii")  # length and correlation id
_LENGTH_BYTES = _CORRELATION_ID_BYTES = 4
_HEAD_WITH_TAGS = struct.Struct(">iix")


class RequestHeader(NamedTuple):
    """The start of a request: its header, and where its client id ends."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str
    end: int


def read_header(frame: Bytes) -> RequestHeader:
    """The header up to the end of its client id; whether a tagged section follows depends on the API and version."""
    try:
        key, version, correlation_id, length = _HEAD.unpack_from(frame)
        end = _HEAD_BYTES + length if length > 0 else _HEAD_BYTES
        if length < -1 or end > len(frame):
            raise CorruptionError(f"a client id of {length} bytes in a frame of {len(frame)}", position=8)
        return RequestHeader(key, version, correlation_id, str(frame[_HEAD_BYTES:end], "utf-8"), end)
    except struct.error:
        raise CorruptionError(f"a frame of {count(len(frame), 'byte')} is too short for a header", position=0) from None
    except UnicodeDecodeError as error:
        raise CorruptionError(f"the client id is not UTF-8: {error.reason}", position=_HEAD_BYTES) from None


class WireFormat:
    """An API in one version: reads the bodies of its requests, and writes its responses."""

    def __init__(self, api: Api, version: int) -> None:
        self.api = api
        self.name = api.name
        self._read = prefix_reader_of(api.request, version)
        self._write = parts_writer_of(api.response, version)
        self._has_tags = version in api.request.flexible
        self._head = _HEAD_WITH_TAGS if _response_has_tags(api, version) else _RESPONSE_HEAD

    def read_body(self, frame: Bytes, start: int) -> Row:
        """The request's body; `start` is where its client id ends. The records in it are views into the frame.

        Bytes after the body are ignored, as in Kafka: librdkafka sends more than the version defines.
        """
        if self._has_tags:
            start = _skip_tags(frame, start)
        body: Row = self._read(frame, start)[0]
        return body

    def response_parts(self, correlation_id: int, row: Row) -> list[Part]:
        """A response with its length and header, ready to be sent."""
        return self._write(row, self._head.pack(0, correlation_id))


def response_size(parts: list[Part]) -> int:
    """The size of a response, without its length prefix."""
    first = parts[0]
    assert isinstance(first, bytes)
    return int.from_bytes(first[:_LENGTH_BYTES])


@cache
def wire_format(api: Api, version: int) -> WireFormat:
    """The wire format of an API in one of its versions, built once."""
    return WireFormat(api, version)


def request_frame(api: Api, version: int, body: bytes, *, correlation_id: int, client_id: str | None = None) -> bytes:
    """A client's whole request: length, header, body."""
    name = b"" if client_id is None else client_id.encode()
    header = _HEAD.pack(api.key, version, correlation_id, -1 if client_id is None else len(name)) + name
    header += b"\0" if version in api.request.flexible else b""
    return (len(header) + len(body)).to_bytes(_LENGTH_BYTES) + header + body


def read_response(api: Api, version: int, frame: bytes) -> tuple[int, Row]:
    """The correlation id and the body of the response that a client got; the frame comes without its length."""
    start = _CORRELATION_ID_BYTES
    if len(frame) < start:
        raise CorruptionError(f"a response of {count(len(frame), 'byte')} is too short for its header", position=0)
    correlation_id = int.from_bytes(frame[:start], signed=True)
    if _response_has_tags(api, version):
        start = _skip_tags(frame, start)
    return correlation_id, decode(api.response, version, frame[start:])


def _response_has_tags(api: Api, version: int) -> bool:
    return version in api.response.flexible and api is not API_VERSIONS


def _skip_tags(frame: Bytes, position: int) -> int:
    if position < len(frame) and frame[position] == 0:
        return position + 1
    tags, position = decode_uvarint(frame, position)
    for _ in range(tags):
        _, position = decode_uvarint(frame, position)
        size, position = decode_uvarint(frame, position)
        position += size
        if position > len(frame):
            raise CorruptionError("a tag of the header reaches beyond the frame", position=position)
    return position
