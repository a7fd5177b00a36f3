"""The storage engine: `python -m benchmarks.storing [--scale S] [--rounds N] [--only TEXT]`.

Appends are compared with write(), recovery with a broker's (`recovery`), lookups and thousands of partitions with a
limit in seconds, memory with a limit in bytes.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

import numpy as np

import octavo
from benchmarks import memory
from benchmarks.data import D1, EPOCH_MS, FOLDER
from benchmarks.measure import Contender
from benchmarks.options import parse, print_heading
from benchmarks.reading import Versus, nothing, run
from benchmarks.recovery import recovery_jobs
from octavo.format.batches.walker import walk
from octavo.format.names import FileKind, SegmentFile
from octavo.storage.log_manager import LogManager
from octavo.storage.partition_log import PartitionLog

SET_BYTES = 1 << 20
APPENDED_BYTES = 256 << 20
LOOKUPS, LOOKUP_LIMIT_S = 5000, 20e-6
PARTITIONS, PARTITION_LIMIT_S = 10_000, 1e-3
CONFIG = {"retention.ms": -1, "message.timestamp.after.max.ms": 1 << 60}


@contextmanager
def new_log() -> Iterator[PartitionLog]:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder, LogManager(folder, background=False) as logs:
        logs.create_topic("t", 1, CONFIG)
        yield logs.log("t", 0)


def sets(scale: float) -> list[bytearray]:
    """The batches of d1's first 256 MiB, in sets of about 1 MiB."""
    with D1.path(scale).open("rb") as file:
        found = walk(file.read(APPENDED_BYTES), check_crc=False)
    starts = found.table["position"]
    ends = starts + found.table["size"]
    firsts = np.flatnonzero(np.diff(starts // SET_BYTES, prepend=-1))
    lasts = np.append(firsts[1:], len(ends)) - 1
    return [bytearray(found.data[starts[first] : ends[last]]) for first, last in zip(firsts, lasts, strict=True)]


def append(log: PartitionLog, data: list[bytearray], *, trusted: bool) -> None:
    for batches in data:
        if trusted:
            log.append_as_leader(batches, leader_epoch=0, trusted=True)
        else:
            log.append_as_follower(batches)
    log.truncate_to(0)


def write(path: Path, data: list[bytearray]) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    for batches in data:
        os.write(descriptor, batches)
    os.ftruncate(descriptor, 0)
    os.close(descriptor)


def append_jobs(scale: float) -> Iterator[Versus]:
    data = sets(scale)
    with new_log() as log:
        for name, trusted in (("a leader's, own batches", True), ("a follower's, CRCs checked", False)):
            ours = Contender("append", partial(append, log, data, trusted=trusted))
            peer = Contender("write() of the same", partial(write, log.folder.parent / "written", data))
            yield Versus(f"append of 1 MB, {name}", ours, peer, 1 / 1.5, "cpu")


def lookup_jobs(scale: float) -> Iterator[Versus]:
    data, random = sets(scale), Random(1)
    with new_log() as log:
        for batches in data:
            log.append_as_follower(batches)
        wanted = [EPOCH_MS + random.randrange(log.log_end_offset) for _ in range(LOOKUPS)]

        def look_up() -> None:
            for timestamp in wanted:
                log.offset_for_timestamp(timestamp)

        limit = Contender("20 µs each", nothing)
        yield Versus(
            f"offsets for {LOOKUPS} times", Contender("lookup", look_up), limit, 1.0, "wall", LOOKUPS * LOOKUP_LIMIT_S
        )


def many_partitions() -> Path:
    """A cleanly stopped directory of empty partitions."""
    root = FOLDER / "partitions"
    if not (root / ".kafka_cleanshutdown").exists():
        shutil.rmtree(root, ignore_errors=True)
        for number in range(PARTITIONS):
            folder = root / f"t-{number}"
            folder.mkdir(parents=True)
            for kind in (FileKind.LOG, FileKind.OFFSET_INDEX, FileKind.TIME_INDEX):
                (folder / SegmentFile(0, kind).name).touch()
        (root / ".kafka_cleanshutdown").touch()
    return root


def open_and_close(root: Path) -> None:
    with LogManager(root, background=False) as logs:
        assert len(logs.topics["t"]) == len(logs.logs)


def list_and_plan(root: Path) -> None:
    assert octavo.scan(root, topics=["t"]).to_table().num_rows == 0


def partition_jobs(scale: float) -> Iterator[Versus]:
    root = many_partitions()
    for name, work in (("opened and closed", open_and_close), ("listed, planned and read", list_and_plan)):
        limit = Contender("1 ms each", nothing)
        ours = Contender(name, partial(work, root))
        yield Versus(f"{PARTITIONS} partitions {name}", ours, limit, 1.0, "wall", PARTITIONS * PARTITION_LIMIT_S)


def main() -> None:
    options = parse("benchmarks.storing", __doc__, scale=0.5, of="share of the full data sets", rounds=3)
    print_heading(options)
    for jobs in (append_jobs, lookup_jobs, recovery_jobs, partition_jobs):
        for job in jobs(options.scale):
            if options.only in job.name:
                run(job, options)
    memory.report(options.scale, options.only, as_json=options.json)


if __name__ == "__main__":
    main()
