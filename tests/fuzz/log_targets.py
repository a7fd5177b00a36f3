"""Targets for log bytes: walker, decoder, conversion, codecs, and the kernels against their twins."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random

import numpy as np

from octavo.errors import CorruptionError, EncodingError
from octavo.format.batches import convert
from octavo.format.batches.batch import decode_batch, frame_batch
from octavo.format.batches.chunk_walk import walk_chunks
from octavo.format.batches.decoder import Decoder
from octavo.format.batches.header import BatchHeader
from octavo.format.batches.row_columns import to_records
from octavo.format.batches.walker import walk
from octavo.format.compression import Codec, compress, decompress
from octavo.format.legacy.message_set import encode_message
from octavo.format.record import Record
from octavo.kernels import layout
from octavo.kernels.columns import RecordColumns
from octavo.kernels.layout import CODEC_MASK, Code, Column, Flaw
from tests.format.exact_batches import encode_batch
from tests.fuzz import seeds
from tests.fuzz.mutations import mutated
from tests.fuzz.sealing import seal_log, seal_lz4
from tests.fuzz.target import Target, mutating
from tests.kernels import implementations
from tests.kernels.hand_made import content

LIMIT = 8 << 20  # the largest decompressed size of a batch
STREAM_LIMIT = 1 << 20


def make_log(random: Random) -> bytes:
    """A few entries, changed; or one whose records were changed before they were compressed."""
    if random.random() < 0.3:
        return repacked(random)
    pool = seeds.entries()
    log = b"".join(random.choice(pool) for _ in range(random.choice((1, 1, 1, 2, 3, 5))))
    data = mutated(random, log, pool)
    if random.random() < 0.8:
        seal_log(random, data)
    return bytes(data)


@cache
def unpacked() -> list[tuple[BatchHeader, bytes]]:
    """The records of batches and the message sets of wrappers, without their compression."""
    found = []
    for entry in seeds.entries():
        try:
            header, records = decode_batch(entry, stored_timestamps=True, limit=LIMIT)
        except CorruptionError:
            continue
        if header.magic == 2 and records:
            plain = BatchHeader(base_offset=header.base_offset, base_timestamp=header.base_timestamp)
            found.append((header, encode_batch(plain, records)[layout.BATCH_OVERHEAD :]))
        elif header.magic < 2 and header.codec_id:
            messages = (encode_message(record._replace(headers=()), header.magic) for record in records)
            found.append((header, b"".join(messages)))
    return [pair for pair in found if len(pair[1]) <= seeds.LARGEST_ENTRY]


def repacked(random: Random) -> bytes:
    header, plain = random.choice(unpacked())
    data = mutated(random, plain, [plain])
    if header.magic < 2:
        codec = random.choice((Codec.GZIP, Codec.SNAPPY, Codec.LZ4))
        if random.random() < 0.7:
            seal_log(random, data)
        value = compress(codec, data, magic=header.magic)
        return encode_message(Record(header.base_offset, 5, None, value), header.magic, codec)
    codec = random.choice(list(Codec))
    attributes = header.attributes & ~CODEC_MASK | codec
    count = header.count + random.choice((0, 0, 0, 0, 1, -1, 1000))
    return frame_batch(
        BatchHeader(base_offset=header.base_offset, attributes=attributes, count=count), compress(codec, data)
    )


def run_log(data: bytes) -> None:
    for columns in Decoder(limit=LIMIT).decode(data, walk(data).table):
        to_records(columns)


def run_rows(data: bytes) -> None:
    """Each batch on its own, whatever the others are."""
    error: CorruptionError | None = None
    decoder = Decoder(limit=LIMIT)
    for row in walk(data, check_crc=False).table:
        try:
            to_records(decoder.decode_one(data, row))
        except CorruptionError as found:
            error = found
    if error is not None:
        raise error


def run_chunks(data: bytes) -> None:
    """The walk in chunks must find what a walk of the whole finds."""
    whole = walk(data)
    source, rows, position, stop = memoryview(data), [], 0, None

    def read_into(buffer: memoryview, /) -> int:
        nonlocal source
        count = min(len(buffer), len(source), 97)
        buffer[:count] = source[:count]
        source = source[count:]
        return count

    for chunk in walk_chunks(read_into, chunk_bytes=61 + len(data) % 200):
        moved = chunk.table.copy()
        moved["position"] += chunk.file_position
        rows += moved.tolist()
        position, stop = chunk.stop_position, chunk.stop
    assert (rows, position, stop) == (whole.table.tolist(), whole.next_position, whole.stop)


def run_batch(data: bytes) -> None:
    """What was accepted can be written, and reads the same again."""
    header, records = decode_batch(data, stored_timestamps=True, limit=LIMIT)
    if header.magic == 2 and len(records) < 1000:
        assert decode_batch(encode_batch(header, records), stored_timestamps=True, limit=LIMIT)[1] == records


def run_convert(data: bytes) -> None:
    match len(data) % 4:
        case 0 | 1 as magic:
            convert.down_convert(data, magic, limit=LIMIT)
        case 2:
            convert.up_convert(data, 2, limit=LIMIT)
        case _:
            convert.rewrite_as_v2(data, limit=LIMIT)


def run_kernels(data: bytes) -> None:
    """The compiled kernels and their twins must agree on the walk and on each batch, read as if uncompressed."""
    compiled, reference = implementations.load("compiled"), implementations.load("reference")
    tables = []
    for kernels in (compiled, reference):
        table = np.zeros(50, layout.BATCH)
        rows, *end = kernels.walk(data, 0, len(data), table)
        tables.append((table[:rows], end))
    assert tables[0][0].tolist() == tables[1][0].tolist() and tables[0][1] == tables[1][1]
    for row in tables[0][0]:
        if row["flaws"] & Flaw.TOO_SHORT == 0:
            results = [_decode(kernels, data, row) for kernels in (compiled, reference)]
            assert results[0] == results[1]


def _decode(kernels: object, data: bytes, row: np.void) -> object:
    start, end = int(row["position"]), int(row["position"] + row["size"])
    out = RecordColumns.empty(start % 40, 3 * len(data), start % 7, len(data))
    if row["magic"] >= 2:
        outcome = kernels.decode_records(data, np.array([row]), 0, out)  # type: ignore[attr-defined]
    else:
        outcome = kernels.decode_messages(data, start, end, out, Column.ALL, start % 2 == 0)  # type: ignore[attr-defined]
    assert outcome[0] in set(Code)
    return outcome, content(out)


def _unpacking(codec: Codec, magic: int) -> Callable[[bytes], None]:
    def run(data: bytes) -> None:
        assert len(decompress(codec, data, magic=magic, limit=STREAM_LIMIT)) <= STREAM_LIMIT

    return run


def _stream(codec: Codec, magic: int) -> Target:
    seal = seal_lz4 if codec is Codec.LZ4 else None
    make = mutating(lambda: seeds.streams(codec, magic), seal=seal)
    return Target(f"{codec.name.lower()}-v{magic}", make, _unpacking(codec, magic), weight=2)


LOG_TARGETS = [
    Target("log", make_log, run_log, weight=10),
    Target("rows", make_log, run_rows, weight=6),
    Target("chunks", make_log, run_chunks, weight=2),
    Target("batch", make_log, run_batch, weight=4),
    Target("convert", make_log, run_convert, weight=2, errors=(CorruptionError, EncodingError)),
    *(_stream(codec, 2) for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)),
    *(_stream(codec, 0) for codec in (Codec.SNAPPY, Codec.LZ4)),
]
if implementations.is_there("compiled"):
    LOG_TARGETS.append(Target("kernels", make_log, run_kernels))
