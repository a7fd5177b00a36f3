"""The jobs of `python -m benchmarks` (formats and verify), each with its limit and gate; README.md explains both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import cramjam
import numpy as np
import pyarrow as pa
from isal import isal_zlib
from zstandard import ZstdDecompressor

from benchmarks import limits
from benchmarks.data import D1, D2, D4, FOLDER, DataSet, batch_table, json_path
from benchmarks.directory import log_directory, put_segment
from octavo import kernels
from octavo.format.arrow import FIELDS, from_arrow, to_array
from octavo.format.batches.chunk_walk import walk_chunks
from octavo.format.batches.decoder import Decoder
from octavo.format.batches.walker import walk
from octavo.format.compression import CODECS, Codec
from octavo.jobs.verify.finding import Severity
from octavo.jobs.verify.job import Verification
from octavo.jobs.verify.plan import plan
from octavo.kernels.columns import RecordColumns
from octavo.kernels.layout import BATCH_OVERHEAD, Code, Column
from octavo.system.runner import ThreadRunner


@dataclass(frozen=True)
class Job:
    """`work` is measured next to `limit`; the gate is met when `work` reaches `gate` times the limit's speed."""

    name: str
    work: Callable[[], object]
    limit_name: str
    limit: Callable[[], object]
    gate: float
    records: int
    size: int


def to_arrow(columns: RecordColumns, wanted: Column) -> pa.RecordBatch:
    names = [name for name in FIELDS if wanted & Column[name.upper()]]
    return pa.RecordBatch.from_arrays([to_array(columns, name) for name in names], names)


def walk_file(path: Path) -> None:
    with path.open("rb", buffering=0) as file:
        for chunk in walk_chunks(file.readinto):
            assert not chunk.table["flaws"].any()


def decode_file(path: Path, columns: Column) -> None:
    """Walk, check the CRCs and decode; with columns, also pass each filling to Arrow."""
    decoder = Decoder(columns)
    with path.open("rb", buffering=0) as file:
        for chunk in walk_chunks(file.readinto):
            for filled in decoder.decode(chunk.data, chunk.table):
                if columns:
                    to_arrow(filled, columns)


def verify(place: Path, threads: int) -> None:
    """All of `octavo verify` except the start of the command."""
    verification = Verification(plan([place]), ThreadRunner(threads))
    assert not [found for found in verification.findings() if found.severity is Severity.PROBLEM]
    assert verification.summary.records


def encode_table(batches: list[pa.RecordBatch], records_a_batch: int, out: bytearray) -> None:
    for batch in batches:
        columns = from_arrow(batch)
        code, _, _ = kernels.encode_batches(columns, 0, batch_table(columns, records_a_batch), out, 0)
        assert code == Code.DONE


def reading_jobs(scale: float) -> list[Job]:
    d1, d2, d4 = D1.path(scale), D2.path(scale), D4.path(scale)
    logs = log_directory(scale, D1)
    checksum, copying = "readinto + crc32c", "readinto + crc32c + memcpy"

    def job(name: str, data: DataSet, path: Path, work: Callable[[Path], object], copies: bool, gate: float) -> Job:
        limit = limits.read_checksum_and_copy if copies else limits.read_and_checksum
        limit_name = copying if copies else checksum
        return Job(
            name, lambda: work(path), limit_name, lambda: limit(path), gate, data.rows(scale), path.stat().st_size
        )

    everything = Column.ALL
    return [
        job("walk + CRC, 16 KB batches, d1", D1, d1, walk_file, False, 0.85),
        job("walk + CRC, one-record batches, d4", D4, d4, walk_file, False, 0.0),
        job("walk, CRC, records checked, d1", D1, d1, lambda path: decode_file(path, Column(0)), True, 0.0),
        job("verify: the job, one thread, d1", D1, d1, lambda _: verify(logs / "d1-0", 1), True, 0.50),
        job("decode to Arrow, 1 KB, d2", D2, d2, lambda path: decode_file(path, everything), True, 0.70),
        job("decode to Arrow, 100 B, d1", D1, d1, lambda path: decode_file(path, everything), True, 0.55),
    ]


def encoding_jobs(scale: float) -> list[Job]:
    return [_encoding(D2, "1 KB", scale, 0.70), _encoding(D1, "100 B", scale, 0.55)]


def _encoding(data: DataSet, shape: str, scale: float, gate: float) -> Job:
    """Encode from an Arrow table in memory, about 4 MB at a time, into one reused buffer."""
    rows_at_once = max(1, (4 << 20) // (data.value_bytes + 26) // data.records_a_batch) * data.records_a_batch
    total = min(data.rows(scale), (256 << 20) // (data.value_bytes + 26))
    wanted = Column.ALL & ~Column.HEADERS
    pieces = [data.columns(first, min(rows_at_once, total - first)) for first in range(0, total, rows_at_once)]
    batches = [to_arrow(piece, wanted) for piece in pieces]
    out = bytearray(8 << 20)
    encoded = [_encoded_size(batch, data.records_a_batch, out) for batch in batches]
    sources = [memoryview(np.random.default_rng(size).integers(0, 256, size, np.uint8)) for size in encoded]
    return Job(
        f"encode from Arrow, {shape}, {data.name}",
        lambda: encode_table(batches, data.records_a_batch, out),
        "memcpy + crc32c",
        lambda: limits.copy_and_checksum(sources),
        gate,
        total,
        sum(encoded),
    )


def _encoded_size(batch: pa.RecordBatch, records_a_batch: int, out: bytearray) -> int:
    columns = from_arrow(batch)
    return kernels.encode_batches(columns, 0, batch_table(columns, records_a_batch), out, 0)[2]


def compressed_jobs(scale: float) -> list[Job]:
    return [_compressed(codec, scale) for codec in (Codec.LZ4, Codec.SNAPPY, Codec.ZSTD, Codec.GZIP)]


def _compressed(codec: Codec, scale: float) -> Job:
    path = json_path(codec, scale)
    content = walk(path.read_bytes(), check_crc=False)
    streams = [
        content.data[int(row["position"]) + BATCH_OVERHEAD : int(row["position"]) + int(row["size"])]
        for row in content.table
    ]
    return Job(
        f"decode to Arrow, {CODECS[codec].name} JSON, d3",
        lambda: decode_file(path, Column.ALL),
        f"{CODECS[codec].name} alone",
        lambda: _codec_alone(codec, streams),
        0.60,
        int(content.table["count"].sum()),
        path.stat().st_size,
    )


def _codec_alone(codec: Codec, streams: list[memoryview]) -> None:
    """The library's own call for each stream, into one reused buffer if it has such a call."""
    out, zstd = memoryview(bytearray(1 << 18)), ZstdDecompressor()
    for stream in streams:
        match codec:
            case Codec.ZSTD:
                zstd.stream_reader(stream).readinto(out)
            case Codec.GZIP:
                isal_zlib.decompress(stream, 31)
            case Codec.LZ4:
                cramjam.lz4.decompress_into(stream, out)
            case Codec.SNAPPY:
                for block in _xerial_blocks(stream):
                    cramjam.snappy.decompress_raw_into(block, out)


def _xerial_blocks(stream: memoryview) -> Iterator[memoryview]:
    at = 16
    while size := int.from_bytes(stream[at : at + 4]):
        yield stream[at + 4 : at + 4 + size]
        at += 4 + size


def thread_jobs(scale: float) -> list[Job]:
    """Two segments, with two threads and with one; the gate is 1.5 times the speed of one thread."""
    path, pool = D1.path(scale), ThreadPoolExecutor(2)

    def both() -> None:
        list(pool.map(lambda _: decode_file(path, Column.ALL), range(2)))

    def one_after_the_other() -> None:
        for _ in range(2):
            decode_file(path, Column.ALL)

    twice, records, size = two_partitions(scale), 2 * D1.rows(scale), 2 * path.stat().st_size
    return [
        Job("two threads, two segments, d1", both, "one thread", one_after_the_other, 1.5, records, size),
        Job(
            "verify: two threads, two segments, d1",
            lambda: verify(twice, 2),
            "one thread",
            lambda: verify(twice, 1),
            1.5,
            records,
            size,
        ),
    ]


def two_partitions(scale: float) -> Path:
    """A log directory that holds d1 twice, since a job has one task per segment."""
    root = FOLDER / f"twice-{scale:g}"
    for partition in range(2):
        folder = root / f"d1-{partition}"
        folder.mkdir(parents=True, exist_ok=True)
        put_segment(folder, D1.path(scale))
    return root
