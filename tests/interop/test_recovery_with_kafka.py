"""Damaged partitions loaded after an unclean stop by Kafka's own log and by ours: the same files are left, except
where offsets go back."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from octavo.format.batches.walker import walk
from octavo.format.names import FileKind, SegmentFile
from tests.interop.partition_files import Place, contents, golden_copy, open_ours, open_theirs
from tests.storage.batches import batch

pytestmark = pytest.mark.kafka

CASES = 3
PARTITIONS = [
    ("v431-killed", "crash.plain-0"),
    ("v431-killed", "crash.prealloc-0"),
    ("v431-killed", "crash.txn-0"),
    ("v431-clean", "compact.txn-open-0"),
    ("v431-clean", "codec.zstd-1"),
    ("v431-clean", "index.full-0"),
    ("v431-clean", "roll.by-time-0"),
]
PREFIX_BYTES = 12  # offset and length, which the CRC does not cover

Damage = Callable[[Path, random.Random], None]


def cut(folder: Path, rng: random.Random) -> None:
    log = some_log(folder, rng)
    log.write_bytes(log.read_bytes()[: rng.randrange(log.stat().st_size)])


def zero(folder: Path, rng: random.Random) -> None:
    log = some_log(folder, rng)
    data = bytearray(log.read_bytes())
    start = rng.randrange(len(data))
    end = min(start + rng.choice([1, 8, 100, 4096]), len(data))
    data[start:end] = bytes(end - start)
    log.write_bytes(data)


def flip(folder: Path, rng: random.Random) -> None:
    log = some_log(folder, rng)
    data = bytearray(log.read_bytes())
    batch = rng.choice(walk(bytes(data)).table)
    position = int(batch["position"]) + rng.randrange(PREFIX_BYTES, int(batch["size"]))
    data[position] ^= 1 << rng.randrange(8)
    log.write_bytes(data)


def grow(folder: Path, rng: random.Random) -> None:
    log = some_log(folder, rng)
    size = rng.choice([1, 11, 12, 13, 30, 200, 5000])
    log.write_bytes(log.read_bytes() + (rng.randbytes(size) if rng.random() < 0.5 else bytes(size)))


def stretch(folder: Path, rng: random.Random) -> None:
    """Give a batch another length."""
    log = some_log(folder, rng)
    data = bytearray(log.read_bytes())
    batch = rng.choice(walk(bytes(data)).table)
    length = rng.choice([0, 13, 14, 61, int(batch["size"]) - PREFIX_BYTES + 1, 2**31 - 1, 2**32 - 1])
    position = int(batch["position"]) + 8
    data[position : position + 4] = length.to_bytes(4)
    log.write_bytes(data)


def lose_files(folder: Path, rng: random.Random) -> None:
    kind = rng.choice([FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.PRODUCER_SNAPSHOT, FileKind.LOG])
    paths = sorted(folder.glob(f"*{kind}"))
    for path in rng.sample(paths, min(rng.randint(1, 3), max(len(paths) - 1, 0))):
        path.unlink()


def some_log(folder: Path, rng: random.Random) -> Path:
    logs = sorted(path for path in folder.glob(f"*{FileKind.LOG}") if len(walk(path.read_bytes()).table))
    return rng.choice([rng.choice(logs), logs[-1]])


@pytest.mark.parametrize("damage", [cut, zero, flip, grow, stretch, lose_files])
@pytest.mark.parametrize(("archive", "partition"), PARTITIONS)
def test_the_same_files_are_left(archive: str, partition: str, damage: Damage, tmp_path: Path, jvm: ModuleType) -> None:
    for seed in range(CASES):
        ours = golden_copy(archive, partition, tmp_path / "octavo" / str(seed) / partition)
        damage(ours.folder, random.Random(f"{partition} {damage.__name__} {seed}"))
        theirs = Place(tmp_path / "kafka" / str(seed) / partition, ours.configs)
        shutil.copytree(ours.folder, theirs.folder)
        open_theirs(jvm, theirs, clean=False).close()
        open_ours(ours, clean=False).close()
        assert contents(ours.folder) == contents(theirs.folder), f"seed {seed}"


@pytest.mark.parametrize(("interval_bytes", "kafkas_end"), [(0, 0), (1 << 20, 53)], ids=["entry due", "no entry due"])
def test_offsets_that_go_back_stay(interval_bytes: int, kafkas_end: int, tmp_path: Path, jvm: ModuleType) -> None:
    """Kafka empties the segment if its index would get an entry just there; otherwise it does not notice."""
    configs = {"index.interval.bytes": str(interval_bytes), "retention.ms": "-1"}
    places = [Place(tmp_path / owner / "t-0", configs) for owner in ("octavo", "kafka")]
    for place in places:
        place.folder.mkdir(parents=True)
        for base, batches in ((0, [batch(0, 3), batch(3, 3), batch(1, 3), batch(6, 3)]), (50, [batch(50, 3)])):
            (place.folder / SegmentFile(base, FileKind.LOG).name).write_bytes(b"".join(batches))
            for kind in (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX):
                (place.folder / SegmentFile(base, kind).name).touch()
    ours, theirs = open_ours(places[0], clean=False), open_theirs(jvm, places[1], clean=False)
    assert int(theirs.log.logEndOffset()) == kafkas_end
    assert (ours.log_end_offset, sum(segment.bytes_cut for segment in ours.recovered)) == (53, 0)
    theirs.close()
    ours.close()
    assert (contents(places[0].folder) == contents(places[1].folder)) == (kafkas_end == 53)
