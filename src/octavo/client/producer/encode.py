"""Turns a closed batch into the bytes that a log accepts: compressed, with producer, sequence and CRC."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real

from octavo import kernels
from octavo.client.producer.batch import ProducerBatch
from octavo.errors import EncodingError, InvalidTimestampError
from octavo.format.batches.batch import Origin
from octavo.format.compression import Codec, compress
from octavo.format.varint import encode_varint
from octavo.kernels import layout
from octavo.kernels.integers import INT64_MAX

NO_HEADERS = encode_varint(0)

_Header = tuple[str, bytes | str | None]
Headers = Mapping[str, bytes | str | None] | Iterable[_Header]


def encode_batch(batch: ProducerBatch, codec: Codec, level: int | None, origin: Origin) -> memoryview:
    """Encode a closed batch; without a codec the bytes are the batch's own buffer."""
    size, data = batch.filled, batch.data
    (*_, last_offset_delta, base_timestamp, max_timestamp, _, _, _, count) = layout.BATCH_HEADER.unpack_from(data)
    if codec is not Codec.NONE:
        packed = compress(codec, memoryview(data)[layout.BATCH_OVERHEAD : size], level=level)
        data = bytearray(layout.BATCH_OVERHEAD) + packed
        size = len(data)
    producer = origin.producer_id, origin.producer_epoch, origin.base_sequence
    start = 0, size - layout.LOG_OVERHEAD, layout.NO_LEADER_EPOCH, 2, 0, codec | origin.attributes
    layout.BATCH_HEADER.pack_into(data, 0, *start, last_offset_delta, base_timestamp, max_timestamp, *producer, count)
    crc = kernels.crc32c(memoryview(data)[layout.ATTRIBUTES_POSITION : size])
    data[layout.CRC_POSITION : layout.ATTRIBUTES_POSITION] = crc.to_bytes(4)
    return memoryview(data)[:size]


def as_bytes(content: object, what: str) -> bytes | None:
    """A key or value as bytes: text becomes UTF-8, None means null."""
    if content is None or isinstance(content, bytes):
        return content
    if isinstance(content, str):
        try:
            return content.encode("utf-8")
        except UnicodeEncodeError as error:
            where = f"character {error.start} of the {what}, {content[error.start]!r},"
            raise EncodingError(f"{where} cannot be written as UTF-8: {error.reason}") from None
    if isinstance(content, bytearray | memoryview):
        return bytes(content)
    raise TypeError(f"a {what} of type {type(content).__name__}, expected bytes, str or None")


def check_timestamp(timestamp: float) -> None:
    """Refuse what is not a number of milliseconds from 1970 on."""
    if not isinstance(timestamp, Real):
        raise TypeError(f"timestamp {timestamp!r} is not a number, expected milliseconds since 1970")
    if not 0 <= timestamp <= INT64_MAX:
        expected = "0 or more" if timestamp < 0 else f"at most {INT64_MAX}"
        raise InvalidTimestampError(f"timestamp {timestamp}, expected {expected}")


def encode_headers(headers: Headers) -> bytes:
    """A record's headers and their count, encoded as in a v2 record."""
    pairs = list(headers.items() if isinstance(headers, Mapping) else headers)
    parts = [encode_varint(len(pairs))]
    for pair in pairs:
        if not isinstance(pair, Sequence) or isinstance(pair, str | bytes) or len(pair) != 2:
            raise TypeError(f"header {pair!r} is not a pair of key and value")
        key, value = pair
        if not isinstance(key, str):
            raise TypeError(f"a header key of type {type(key).__name__}, expected str")
        try:
            name = key.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            raise EncodingError(f"header key {key!r} cannot be written as UTF-8: {error.reason}") from None
        parts += [*_sized(name), *_sized(as_bytes(value, "header value"))]
    return b"".join(parts)


def upper_bound(key: bytes | None, value: bytes | None, headers: bytes) -> int:
    """The largest size of a batch with only this record."""
    sizes = sum(len(part) for content in (key, value) for part in _sized(content))
    return layout.BATCH_OVERHEAD + layout.MAX_RECORD_OVERHEAD + sizes + len(headers)


def _sized(content: bytes | None) -> tuple[bytes, ...]:
    return (encode_varint(-1),) if content is None else (encode_varint(len(content)), content)
