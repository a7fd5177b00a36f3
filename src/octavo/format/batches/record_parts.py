"""The parts of v2 records one by one, with their positions.

A kernel decodes a whole batch or nothing. This module provides the records before the damaged one in an uncompressed
batch, and the anatomy of a record. It loops over fields in plain Python, which is slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from octavo.format.batches.problems import problem_of
from octavo.format.record import Header, Record
from octavo.format.varint import decode_varint, decode_varlong
from octavo.kernels.integers import signed64
from octavo.kernels.layout import Code


class RecordPart(NamedTuple):
    """One field and its position; a null key or value takes no bytes."""

    name: str
    start: int
    end: int
    value: int | bytes | None


class BaseValues(NamedTuple):
    """The base values of a batch's records; `log_append_time` replaces all their timestamps."""

    base_offset: int
    base_timestamp: int
    log_append_time: int | None = None


def record_parts(data: memoryview, start: int, end: int) -> Iterator[RecordPart]:
    """The fields of the record at `start`, with Kafka's names; `end` is the end of all records.

    A damaged record raises after yielding the fields before the damage.
    """
    length, at = decode_varint(data[:end], start)
    yield RecordPart("length", start, at, length)
    if not 1 <= length <= end - at:
        raise problem_of(Code.RECORD_BEYOND_END, start, length)
    body = data[: at + length]
    yield RecordPart("attributes", at, at + 1, int.from_bytes(body[at : at + 1], signed=True))
    delta, after = decode_varlong(body, at + 1)
    yield RecordPart("timestampDelta", at + 1, after, delta)
    delta, at = decode_varint(body, after)
    yield RecordPart("offsetDelta", after, at, delta)
    for name, beyond in (("key", Code.KEY_BEYOND_RECORD), ("value", Code.VALUE_BEYOND_RECORD)):
        for part in _sized(body, at, name, beyond):
            yield part
            at = part.end
    count, after = decode_varint(body, at)
    yield RecordPart("headersCount", at, after, count)
    if not 0 <= count <= len(body) - after:
        raise problem_of(Code.NEGATIVE_HEADER_COUNT if count < 0 else Code.TOO_MANY_HEADERS, at, count)
    at = after
    for _ in range(count):
        for name in ("headerKey", "headerValue"):
            for part in _sized(body, at, name, Code.HEADER_BEYOND_RECORD):
                yield part
                at = part.end
                if part.name == "headerKey" and part.value is None:
                    raise problem_of(Code.NEGATIVE_HEADER_KEY, part.start, -1)
    if at != len(body):
        raise problem_of(Code.RECORD_LENGTH_MISMATCH, at, len(body) - at)


def read_records(data: memoryview, start: int, end: int, count: int, base: BaseValues) -> Iterator[Record]:
    """Yields the records of data[start:end]; raises at the first damaged one, and, like Kafka, instead of yielding the
    last one if bytes are left after it."""
    if count < 0:
        raise problem_of(Code.NEGATIVE_COUNT, start, count)
    for left in range(count - 1, -1, -1):
        parts = list(record_parts(data, start, end))
        start = parts[-1].end
        if left == 0 and start != end:
            raise problem_of(Code.TRAILING_BYTES, start, end - start)
        yield _record(parts, base)


def _sized(body: memoryview, at: int, name: str, beyond: Code) -> Iterator[RecordPart]:
    """A length followed by that many bytes; any negative length means null."""
    length, start = decode_varint(body, at)
    yield RecordPart(f"{name}Length", at, start, length)
    if length > len(body) - start:
        raise problem_of(beyond, at, length)
    end = start + max(length, 0)
    yield RecordPart(name, start, end, bytes(body[start:end]) if length >= 0 else None)


def _record(parts: list[RecordPart], base: BaseValues) -> Record:
    numbers = {part.name: part.value for part in parts if isinstance(part.value, int)}
    contents = {part.name: part.value for part in parts if not isinstance(part.value, int)}
    timestamp = signed64(base.base_timestamp + numbers["timestampDelta"])
    headers = [part.value for part in parts if part.name in ("headerKey", "headerValue")]
    return Record(
        signed64(base.base_offset + numbers["offsetDelta"]),
        timestamp if base.log_append_time is None else base.log_append_time,
        contents["key"],
        contents["value"],
        tuple(_header(key, value) for key, value in zip(headers[::2], headers[1::2], strict=True)),
    )


def _header(key: int | bytes | None, value: int | bytes | None) -> Header:
    assert isinstance(key, bytes) and not isinstance(value, int)
    return Header(key.decode("utf-8", "surrogateescape"), value)
