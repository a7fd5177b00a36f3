"""Sets of batches as producers send them, sound and otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from octavo.format.batches.batch import Origin, build_batch, frame_batch, read_header
from octavo.format.batches.control import ControlType, EndTransactionMarker, build_marker_batch
from octavo.format.batches.header import BatchHeader
from octavo.format.compression import Codec, compress, decompress
from octavo.format.legacy.message_set import encode_message, encode_message_set
from octavo.format.record import Header, Record
from octavo.kernels.layout import BATCH_OVERHEAD
from tests.format.exact_batches import encode_batch

NOW = 1_700_000_000_000
HOUR = 3_600_000
PRODUCER = Origin(producer_id=4000, producer_epoch=3, base_sequence=7)


def records(*timestamps: int, keys: tuple[bytes | None, ...] = ()) -> list[Record]:
    """One record per timestamp, numbered from 0; the second has headers."""
    keys = keys or tuple(b"k%d" % number for number in range(len(timestamps)))
    headers = (Header("h", b"x"), Header("n", None))
    return [
        Record(number, timestamp, key, b"value %d" % number, headers if number == 1 else ())
        for number, (timestamp, key) in enumerate(zip(timestamps, keys, strict=True))
    ]


def old_set(found: list[Record], magic: int, *, codec: Codec = Codec.NONE) -> bytes:
    """A v0 or v1 message set of these records, which lose their headers."""
    return encode_message_set([record._replace(headers=()) for record in found], magic, codec=codec)


THREE = records(NOW - 5, NOW + 5, NOW)
UNKEYED = records(NOW, NOW, NOW, keys=(None, b"k", None))
PLAIN = build_batch(THREE, origin=PRODUCER)
GZIP = build_batch(THREE, codec=Codec.GZIP, origin=PRODUCER)
V0 = old_set(THREE, 0)
V1 = old_set(THREE, 1)
V1_GZIP = old_set(THREE, 1, codec=Codec.GZIP)
MARKER = build_marker_batch(
    EndTransactionMarker(ControlType.COMMIT, 5), offset=0, timestamp=NOW, producer_id=4000, producer_epoch=3
)


def changed(batch: bytes, **fields: Any) -> bytes:
    """A v2 batch with other header fields and a matching CRC."""
    return frame_batch(replace(read_header(batch), **fields), batch[BATCH_OVERHEAD:])


def flagged(batch: bytes, bits: int) -> bytes:
    """A v2 batch with more attribute bits."""
    return changed(batch, attributes=read_header(batch).attributes | bits)


def content(batch: bytes) -> bytes:
    """The bytes of a v2 batch's records, decompressed."""
    return bytes(decompress(read_header(batch).codec_id, batch[BATCH_OVERHEAD:]))


def with_content(batch: bytes, inside: bytes) -> bytes:
    """A v2 batch with other content, compressed with its codec."""
    header = read_header(batch)
    return frame_batch(header, compress(header.codec_id, inside))


def cut_stream(batch: bytes) -> bytes:
    """A v2 batch without its last bytes, but with a matching length and CRC."""
    return frame_batch(read_header(batch), batch[BATCH_OVERHEAD:-5])


def numbered(delta: int, codec: Codec) -> bytes:
    """A batch whose only record has this offset delta, where producers write 0."""
    header = BatchHeader(attributes=codec, base_timestamp=NOW, max_timestamp=NOW)
    return encode_batch(header, [Record(delta, NOW, b"k", b"v")])


def wrapper(
    inner: bytes | None, *, magic: int = 1, codec: int = Codec.GZIP, offset: int = 2, attributes: int = 0
) -> bytes:
    """A message that claims to wrap a compressed set."""
    value = None if inner is None else compress(Codec.GZIP, inner, magic=magic)
    return encode_message(Record(offset, NOW, None, value), magic, codec | attributes)
