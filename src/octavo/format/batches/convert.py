"""Converts batches between v0, v1 and v2, as brokers do.

Brokers do so in three cases: a fetch by a consumer that does not know the stored magic (`down_convert`, brokers up to
3.9), a produce request with an older magic than the log's (`up_convert`), and a cleaner that finds an old batch
(`rewrite_as_v2`, brokers from 4.0 on). The append path decides whether records may be appended at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.errors import CorruptRecordError, EncodingError, InvalidRecordError, UnsupportedCompressionTypeError
from octavo.format.batches.batch import BatchTraits, build_columns, check_columns
from octavo.format.batches.decoder import Decoder
from octavo.format.batches.header import BatchHeader
from octavo.format.batches.problems import crc_mismatch, unreadable
from octavo.format.batches.row_columns import from_records, to_records
from octavo.format.batches.walker import walk
from octavo.format.compression import Codec
from octavo.format.legacy.message_set import encode_message_set
from octavo.format.record import Record, TimestampType
from octavo.kernels import layout
from octavo.kernels.layout import Flaw, Stop

if TYPE_CHECKING:
    from typing_extensions import Buffer


def down_convert(data: Buffer, to_magic: int, first_offset: int = 0, *, limit: int | None = None) -> bytes:
    """The batches for a consumer that knows no magic above `to_magic` and asked for `first_offset`.

    What older formats cannot hold is lost: below v2, headers, producer fields, leader epochs and whole control batches;
    below v1, timestamps and their type too. The codec stays, and batches of `to_magic` or lower stay byte for byte.
    Records before `first_offset` are left out of a converted batch that was not compressed, since old consumers expect
    to get that offset first. An incomplete last batch is dropped.
    """
    _check_magic(to_magic)
    decoder = Decoder(limit=limit)
    return b"".join(
        batch.stored if batch.header.magic <= to_magic else _down(batch, to_magic, first_offset, decoder)
        for batch in _batches(data)
        if to_magic >= 2 or _has_a_place_below_v2(batch.header)
    )


def up_convert(
    data: Buffer,
    to_magic: int,
    traits: BatchTraits | None = None,
    first_offset: int | None = None,
    *,
    limit: int | None = None,
) -> bytes:
    """The v0 or v1 message set of a produce request, converted to magic `to_magic` as the leader appends it.

    In v2 the whole set becomes one batch. v0 records get the timestamp -1 with CreateTime, unless `traits` has a
    `log_append_time`. Without `traits` the set keeps its producer's codec, and without `first_offset` the records keep
    their offsets.
    """
    _check_magic(to_magic)
    batches = list(_batches(data))
    if not batches:
        raise InvalidRecordError("no whole message in the set, expected at least one", position=0)
    first = batches[0].header
    for batch in batches:
        _check_produced(batch.header, first.magic, to_magic, is_only=len(batches) == 1)
    records = _records(batches, Decoder(limit=limit))
    if first_offset is not None:
        records = [record._replace(offset=offset) for offset, record in enumerate(records, first_offset)]
    return _build(records, to_magic, traits or BatchTraits(codec=_codec(first)))


def rewrite_as_v2(data: Buffer, *, limit: int | None = None) -> bytes:
    """The same log in v2 only: each v0 or v1 message or wrapper becomes its own batch with the same offsets.

    Kafka 4's cleaner does the same with the messages it keeps, and adds a delete horizon if there are tombstones among
    them. v0 records get the timestamp -1 with CreateTime, whatever the topic says, since it is unknown when they were
    appended. v2 batches stay byte for byte.
    """
    decoder = Decoder(limit=limit)
    return b"".join(
        batch.stored if batch.header.magic == 2 else _build_like(batch.header, _records([batch], decoder), 2)
        for batch in _batches(data)
    )


class _Batch(NamedTuple):
    data: memoryview
    rows: NDArray[np.void]  # a table with one row
    header: BatchHeader

    @property
    def stored(self) -> memoryview:
        return self.data[self.header.position : self.header.position + self.header.size]


def _batches(data: Buffer) -> Iterator[_Batch]:
    found = walk(data)
    for at in range(len(found.table)):
        batch = _Batch(found.data, found.table[at : at + 1], BatchHeader.from_row(found.table[at]))
        header = batch.header
        if header.flaws & (Flaw.UNKNOWN_MAGIC | Flaw.TOO_SHORT):
            raise unreadable(header)
        yield batch
    if found.stop is Stop.SIZE_TOO_SMALL:
        _, size = layout.ENTRY_PREFIX.unpack_from(found.data, found.next_position)
        sentence = f"a batch of length {size}, expected at least {layout.MIN_MESSAGE_SIZE}"
        raise CorruptRecordError(sentence, position=found.next_position)


def _records(batches: Sequence[_Batch], decoder: Decoder) -> list[Record]:
    """The records of these batches. Their checksums must be right, since new ones would hide the damage."""
    for batch in batches:
        if batch.header.flaws & Flaw.CRC_MISMATCH:
            raise crc_mismatch(batch.data, batch.header)
    table = np.concatenate([batch.rows for batch in batches])
    return [record for columns in decoder.decode(batches[0].data, table) for record in to_records(columns)]


def _has_a_place_below_v2(header: BatchHeader) -> bool:
    if header.is_control:
        return False
    if _codec(header) is Codec.ZSTD:
        place = f"the batch at position {header.position} (offset {header.base_offset})"
        raise UnsupportedCompressionTypeError(f"{place} is compressed with zstd, which magic 0 and 1 do not support")
    return True


def _down(batch: _Batch, to_magic: int, first_offset: int, decoder: Decoder) -> bytes:
    records = _records([batch], decoder)
    if batch.header.codec_id == Codec.NONE:
        records = [record for record in records if record.offset >= first_offset]
    if not records:
        return b""
    return _build_like(batch.header, [record._replace(headers=()) for record in records], to_magic)


def _build_like(header: BatchHeader, records: Sequence[Record], magic: int) -> bytes:
    """The records of a stored batch converted to another magic, with its codec and timestamp type."""
    appended = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    traits = BatchTraits(codec=_codec(header), log_append_time=header.max_timestamp if appended else None)
    return _build(records, magic, traits)


def _build(records: Sequence[Record], magic: int, traits: BatchTraits) -> bytes:
    columns = from_records(records)
    if magic == 2:
        return build_columns(columns, traits)
    check_columns(columns)
    append_time = traits.log_append_time
    return encode_message_set(
        records, magic, codec=traits.codec, log_append_time=append_time, level=traits.level, stamp_inner=True
    )


def _codec(header: BatchHeader) -> Codec:
    try:
        return Codec(header.codec_id)
    except ValueError:
        raise InvalidRecordError(f"codec {header.codec_id}, expected 0 to 4", position=header.position) from None


def _check_produced(header: BatchHeader, magic: int, to_magic: int, *, is_only: bool) -> None:
    if header.magic != magic:
        sentence = f"magic {header.magic} in a set that begins with magic {magic}"
        raise InvalidRecordError(sentence, position=header.position)
    if magic >= to_magic:
        raise EncodingError(f"a set of magic {magic} cannot be converted up to magic {to_magic}")
    if header.codec_id != Codec.NONE and not is_only:
        raise InvalidRecordError("a compressed message among others, expected it alone", position=header.position)


def _check_magic(magic: int) -> None:
    if magic not in (0, 1, 2):
        raise EncodingError(f"magic {magic}, expected 0, 1 or 2")
