"""Compaction of d5 (5 M records with values of 100 B, 500 k keys, segments of 100 MB), compared with Kafka's cleaner.

    python -m benchmarks.compaction [--scale S] [--rounds N] [--key-hash siphash|md5]

Kafka's figures are constants, measured with 4.3.1 on a machine with 2 cores. A whole compaction changes
its log, so each round of it works on a fresh copy. Its output is synced, as in Kafka.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from tests.storage.worlds import ManualScheduler

from benchmarks.data import EPOCH_MS, FOLDER, ROWS_AT_ONCE, encode
from benchmarks.results import Result, keep
from octavo import kernels
from octavo.config import LogConfig
from octavo.format.batches.chunk_walk import walk_chunks
from octavo.format.names import TopicPartition
from octavo.kernels.columns import BinaryColumn, RecordColumns
from octavo.kernels.offset_table import KeyHash, OffsetTable
from octavo.storage.cleaner.clean import Cleaner
from octavo.storage.cleaner.map_keys import map_keys
from octavo.storage.cleaner.offset_map import MapLimits
from octavo.storage.cleaner.plan import Candidate
from octavo.storage.directory.log_root import LogRoot, Selection
from octavo.storage.environment import Environment
from octavo.storage.partition_log import PartitionLog
from octavo.storage.recovery.load import LoadRequest
from octavo.system.clock import ManualClock
from octavo.system.filesystem import LocalFileSystem
from octavo.system.runner import InlineRunner

Prepared = TypeVar("Prepared")

RECORDS, KEYS, VALUE_BYTES, RECORDS_A_BATCH = 5_000_000, 500_000, 100, 128
SEGMENT_BYTES = 100 << 20
MAP_BYTES, LOAD_FACTOR = 128 << 20, 0.9
KAFKA_CPU_S, KAFKA_KEYS_A_SECOND = 4.5, 2.26e6
GATE_WHOLE, GATE_MAP, GATE_MAP_ALONE = 5.0, 6.0, 15e6


def main() -> None:
    words = argparse.ArgumentParser(prog="python -m benchmarks.compaction", description=__doc__.splitlines()[0])
    words.add_argument("--scale", type=float, default=1.0, help="share of the records and keys")
    words.add_argument("--rounds", type=int, default=3)
    words.add_argument("--key-hash", choices=[each.name.lower() for each in KeyHash], default="siphash")
    words.add_argument("--only", default="", help="run only if the name `compaction` contains this")
    options, _ = words.parse_known_args()
    if options.only not in "compaction":
        return
    limits = MapLimits(MAP_BYTES, LOAD_FACTOR, KeyHash[options.key_hash.upper()], bytes(range(16)))
    records = int(RECORDS * options.scale)
    source = made(options.scale)
    alone = _best(options.rounds, *map_alone(limits, int(KEYS * options.scale)))
    from_log = _best(options.rounds, lambda: found(source).plan(limits, EPOCH_MS), map_keys)
    cleaner = Cleaner(InlineRunner(), LocalFileSystem(), limits, EPOCH_MS)
    whole = _best(options.rounds, lambda: found(copied(source)), lambda candidate: next(cleaner.clean([candidate])))
    shutil.rmtree(source.with_name("copy-0"), ignore_errors=True)
    print(f"{options.key_hash}: the map alone: {records / alone / 1e6:.1f} M keys/s, gate {GATE_MAP_ALONE / 1e6:.0f}")
    speed = records / from_log / KAFKA_KEYS_A_SECOND
    print(f"the map from the log: {records / from_log / 1e6:.1f} M keys/s, {speed:.1f} x Kafka, gate {GATE_MAP:.0f} x")
    kafka = KAFKA_CPU_S * options.scale
    keep(Result("compaction whole", whole, "Kafka's cleaner", kafka, "cpu", True, options.scale))
    ratio = kafka / whole
    rate = f"{records / whole / 1e6:.1f} M records per CPU s"
    print(f"compaction whole: {whole:.2f} CPU s, {rate}, {ratio:.1f} x Kafka, gate {GATE_WHOLE:.0f} x")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"peak memory: {peak} MiB, of which the map takes {MAP_BYTES >> 20}")


def made(scale: float) -> Path:
    """The partition folder, created if it does not exist."""
    folder = FOLDER / f"d5-{scale:g}" / "d5-0"
    if not folder.exists():
        print(f"making {folder}", file=sys.stderr)
        shutil.rmtree(folder.parent, ignore_errors=True)
        log = opened(folder)
        random = np.random.default_rng(5)
        for first in range(0, int(RECORDS * scale), ROWS_AT_ONCE):
            rows = min(ROWS_AT_ONCE, int(RECORDS * scale) - first)
            data = encode(_columns(random, first, rows, int(KEYS * scale)), RECORDS_A_BATCH)
            for chunk in walk_chunks(_reader(data), chunk_bytes=1 << 20, check_crc=False):
                if len(chunk.table):
                    end = int(chunk.table[-1]["position"] + chunk.table[-1]["size"])
                    log.append_as_follower(chunk.data[:end])
        log.roll()
        log.close()
    return folder


def _reader(data: memoryview | bytes) -> Callable[[memoryview], int]:
    at = 0

    def read_into(buffer: memoryview) -> int:
        nonlocal at
        part = data[at : at + len(buffer)]
        buffer[: len(part)] = part
        at += len(part)
        return len(part)

    return read_into


def _columns(random: np.random.Generator, first: int, rows: int, keys: int) -> RecordColumns:
    offsets = np.arange(first, first + rows, dtype=np.int64)
    chosen = random.integers(0, keys, rows)
    names = np.frombuffer(b"".join(b"key-%012d" % number for number in chosen.tolist()), np.uint8)
    values = random.integers(0, 256, rows * VALUE_BYTES, np.uint8)
    ends = np.arange(rows + 1, dtype=np.int32)
    key, value = BinaryColumn(ends * 16, names), BinaryColumn(ends * VALUE_BYTES, values)
    return RecordColumns(offsets, offsets + EPOCH_MS, key, value, rows=rows)


def opened(folder: Path) -> PartitionLog:
    clock = ManualClock(EPOCH_MS)
    config = LogConfig.of({"segment.bytes": SEGMENT_BYTES, "cleanup.policy": "compact", "file.delete.delay.ms": 0})
    environment = Environment(ManualScheduler(clock), clock)
    return PartitionLog(LoadRequest(folder=folder, config=config, environment=environment, clean=True))


def copied(source: Path) -> Path:
    copy = source.with_name("copy-0")
    shutil.rmtree(copy, ignore_errors=True)
    return shutil.copytree(source, copy)


def found(folder: Path) -> Candidate:
    root = LogRoot(folder.parent, LocalFileSystem(), Selection())
    return Candidate.of(TopicPartition("d5", 0), opened(folder), root, None, EPOCH_MS)


def map_alone(limits: MapLimits, keys: int) -> tuple[Callable[[], OffsetTable], Callable[[OffsetTable], None]]:
    """Two functions: one makes an empty map, the other puts keys into it from columns in memory, without a log."""
    random = np.random.default_rng(5)
    parts = [_columns(random, first, 50_000, keys) for first in range(0, 10 * keys, 50_000)]
    for part in parts:
        part.value = None

    def put(table: OffsetTable) -> None:
        for part in parts:
            kernels.map_columns(table, part, 0)

    return lambda: limits.table(0, 0), put


def _best(rounds: int, prepare: Callable[[], Prepared], work: Callable[[Prepared], object]) -> float:
    """The lowest CPU seconds of the work, after a warm-up."""
    seconds = []
    for _ in range(rounds + 1):
        prepared = prepare()
        before = time.process_time()
        work(prepared)
        seconds.append(time.process_time() - before)
    return min(seconds[1:])


if __name__ == "__main__":
    main()
