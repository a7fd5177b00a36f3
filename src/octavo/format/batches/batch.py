"""Converts records to v2 batches and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo import kernels
from octavo.errors import CorruptRecordError, EncodingError
from octavo.format.batches.decoder import Decoder
from octavo.format.batches.header import BatchHeader
from octavo.format.batches.problems import crc_mismatch
from octavo.format.batches.row_columns import from_records, to_records
from octavo.format.batches.walker import walk
from octavo.format.compression import Codec, compress
from octavo.format.record import Record
from octavo.kernels import layout
from octavo.kernels.columns import RecordColumns
from octavo.kernels.integers import INT32_MAX
from octavo.kernels.layout import Code, Column, Flaw

if TYPE_CHECKING:
    from typing_extensions import Buffer

ENCODER_SLACK = 64  # the encoder needs room for the longest length before a record
# The most bytes of a record besides key, value and headers: its length, attributes, two deltas, two lengths, a count.
_RECORD_OVERHEAD = 5 + 1 + 10 + 5 + 5 + 5 + 5
_HEADER_OVERHEAD = 5 + 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Who wrote a batch: the producer's fields, and the flags that go with them."""

    producer_id: int = layout.NO_PRODUCER_ID
    producer_epoch: int = layout.NO_PRODUCER_EPOCH
    base_sequence: int = layout.NO_SEQUENCE
    is_transactional: bool = False
    is_control: bool = False

    def check(self) -> None:
        """Refuse what Kafka's builder would refuse."""
        if self.is_transactional and self.producer_id == layout.NO_PRODUCER_ID:
            raise EncodingError("a transactional batch without a producer id")
        if self.producer_id != layout.NO_PRODUCER_ID:
            if self.producer_epoch == layout.NO_PRODUCER_EPOCH:
                raise EncodingError(f"producer id {self.producer_id} without a producer epoch")
            if self.base_sequence < 0 and not self.is_control:
                found = f"producer id {self.producer_id} with base sequence {self.base_sequence}"
                raise EncodingError(f"{found}, expected 0 or more")

    @property
    def attributes(self) -> int:
        return self.is_transactional * layout.TRANSACTIONAL | self.is_control * layout.CONTROL


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTraits:
    """The properties of a batch besides its records. `log_append_time` replaces every record's timestamp."""

    codec: Codec = Codec.NONE
    level: int | None = None
    log_append_time: int | None = None
    delete_horizon_ms: int | None = None
    partition_leader_epoch: int = layout.NO_LEADER_EPOCH
    origin: Origin = Origin()

    @property
    def attributes(self) -> int:
        attributes = self.codec | self.origin.attributes
        attributes |= 0 if self.log_append_time is None else layout.LOG_APPEND_TIME
        return attributes | (0 if self.delete_horizon_ms is None else layout.DELETE_HORIZON)


def build_batch(
    records: Sequence[Record],
    *,
    codec: Codec = Codec.NONE,
    log_append_time: int | None = None,
    partition_leader_epoch: int = layout.NO_LEADER_EPOCH,
    origin: Origin | None = None,
) -> bytes:
    """A batch as Kafka's builder makes it: base offset, timestamps and last offset come from the records.

    `log_append_time` replaces every record's timestamp (the records' own remain as deltas, which readers ignore).
    """
    traits = BatchTraits(
        codec=codec,
        log_append_time=log_append_time,
        partition_leader_epoch=partition_leader_epoch,
        origin=origin or Origin(),
    )
    return build_columns(from_records(records), traits)


def build_columns(columns: RecordColumns, traits: BatchTraits) -> bytes:
    """`build_batch` for records in columns, all of which go into the batch."""
    origin, horizon_ms, append_time = traits.origin, traits.delete_horizon_ms, traits.log_append_time
    origin.check()
    check_columns(columns)
    offsets, timestamps = columns.offset[: columns.rows], columns.timestamp[: columns.rows]
    header = BatchHeader(
        base_offset=int(offsets[0]),
        partition_leader_epoch=traits.partition_leader_epoch,
        attributes=traits.attributes,
        last_offset_delta=int(offsets[-1] - offsets[0]),
        base_timestamp=int(timestamps[0]) if horizon_ms is None else horizon_ms,
        max_timestamp=int(timestamps.max()) if append_time is None else append_time,
        producer_id=origin.producer_id,
        producer_epoch=origin.producer_epoch,
        base_sequence=origin.base_sequence,
        count=columns.rows,
    )
    return encode_columns(header, columns, traits.level)


def encode_columns(header: BatchHeader, columns: RecordColumns, level: int | None = None) -> bytes:
    """Encode a batch with exactly this header, except for size and CRC, which are computed.

    Deltas are relative to the header's base offset and base timestamp, not to those of the first record.
    """
    rows = columns.rows
    out = bytearray(layout.BATCH_OVERHEAD + most_record_bytes(columns, rows) + ENCODER_SLACK)
    if header.codec_id == Codec.NONE or not rows:
        code, _, end = kernels.encode_batches(columns, 0, header.to_table(), out, 0)
        _check_code(code, header)
        return bytes(memoryview(out)[:end])
    code, end = kernels.encode_records(columns, 0, rows, header.base_offset, header.base_timestamp, out, 0)
    _check_code(code, header)
    return frame_batch(header, compress(header.codec_id, memoryview(out)[:end], level=level))


def most_record_bytes(columns: RecordColumns, records: int) -> int:
    """An upper bound for the encoded size of so many of the columns' rows, each taken at most once."""
    rows, size = columns.rows, records * _RECORD_OVERHEAD
    for column in (columns.key, columns.value):
        if column is not None:
            size += int(column.offsets[rows]) - int(column.offsets[0])
    if columns.header_offsets is not None and columns.header_key is not None and columns.header_value is not None:
        first, last = int(columns.header_offsets[0]), int(columns.header_offsets[rows])
        size += (last - first) * _HEADER_OVERHEAD
        for column in (columns.header_key, columns.header_value):
            size += int(column.offsets[last]) - int(column.offsets[first])
    return size


def frame_batch(header: BatchHeader, packed: Buffer) -> bytes:
    """A batch from records that are already encoded (and compressed)."""
    header.to_table()  # raises if a value does not fit
    packed = memoryview(packed).cast("B")
    out = bytearray(layout.BATCH_OVERHEAD) + packed
    start = header.base_offset, len(out) - layout.LOG_OVERHEAD, header.partition_leader_epoch, 2, 0, header.attributes
    producer = header.producer_id, header.producer_epoch, header.base_sequence, header.count
    timestamps = header.base_timestamp, header.max_timestamp
    layout.BATCH_HEADER.pack_into(out, 0, *start, header.last_offset_delta, *timestamps, *producer)
    crc = kernels.crc32c(memoryview(out)[layout.ATTRIBUTES_POSITION :])
    out[layout.CRC_POSITION : layout.ATTRIBUTES_POSITION] = crc.to_bytes(4)
    return bytes(out)


def decode_batch(
    data: Buffer, position: int = 0, *, stored_timestamps: bool = False, limit: int | None = None
) -> tuple[BatchHeader, list[Record]]:
    """Decode the batch (or v0/v1 message) at `position`, after checking its CRC.

    `stored_timestamps`: return the stored timestamps even if LogAppendTime overrides them (to encode the batch again).
    """
    view = memoryview(data).cast("B")
    header = read_header(view, position)
    if header.flaws & Flaw.CRC_MISMATCH:
        raise crc_mismatch(view, header)
    wanted = Column.ALL | Column.STORED_TIMESTAMP if stored_timestamps else Column.ALL
    columns = Decoder(wanted, limit=limit).decode_one(view, header.to_table()[0])
    return header, to_records(columns)


def read_header(data: Buffer, position: int = 0) -> BatchHeader:
    """The header of the complete batch at `position`; its flaws say what is wrong with it."""
    view = memoryview(data).cast("B")
    left = len(view) - position
    size = int.from_bytes(view[position + layout.SIZE_POSITION : position + layout.LOG_OVERHEAD], signed=True)
    found = walk(view, position, min(position + layout.LOG_OVERHEAD + max(size, layout.MIN_MESSAGE_SIZE), len(view)))
    if len(found.table) != 1:
        reason = found.stop.name.lower().replace("_", " ")
        raise CorruptRecordError(f"no whole batch in the {left} bytes here: {reason}", position=position)
    return BatchHeader.from_row(found.table[0])


def check_columns(columns: RecordColumns) -> None:
    """Refuse records that Kafka's builder would not put into one batch, whatever the magic."""
    offsets, timestamps = columns.offset[: columns.rows], columns.timestamp[: columns.rows]
    if not columns.rows:
        raise EncodingError("a batch without a record; only compaction leaves empty batches")
    disorder = (offsets[1:] <= offsets[:-1]).nonzero()[0]
    if len(disorder):
        last, found = offsets[disorder[0] : disorder[0] + 2].tolist()
        raise EncodingError(f"offset {found} after {last}: offsets in a batch must increase")
    if timestamps.min() < layout.NO_TIMESTAMP:
        row = int((timestamps < layout.NO_TIMESTAMP).argmax())
        raise EncodingError(f"offset {offsets[row]}: timestamp {timestamps[row]}, expected -1 or more")
    if int(offsets[-1]) - int(offsets[0]) > INT32_MAX:
        expected = "the last offset of a batch is at most 2147483647 after its first"
        raise EncodingError(f"offsets {offsets[0]} to {offsets[-1]}: {expected}")


def _check_code(code: int, header: BatchHeader) -> None:
    if code == Code.DELTA_OUT_OF_RANGE:
        raise EncodingError(f"an offset that is more than 2147483647 away from the base offset {header.base_offset}")
    if code != Code.DONE:
        raise EncodingError(f"the records do not fit into a batch of at most {layout.MAX_FILE_BYTES} bytes")
