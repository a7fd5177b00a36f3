"""Damaged partitions, loaded after an unclean stop by Kafka's own log and by ours: the same files are left."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from octavo.config import LogConfig
from octavo.format import producer_snapshot
from octavo.format.names import LEADER_EPOCH_CHECKPOINT, FileKind, Transient
from octavo.format.walker import walk
from octavo.storage.load import LoadRequest
from octavo.storage.partition_log import PartitionLog
from tests.golden.archives import entry, unpack
from tests.interop.real_log import RealLog
from tests.storage.worlds import World

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


def contents(folder: Path) -> dict[str, object]:
    found: dict[str, object] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix == FileKind.PRODUCER_SNAPSHOT:
            entries = producer_snapshot.decode(path.read_bytes())
            found[path.name] = sorted(map(repr, entries))  # Kafka writes them in the order of a hash table
        elif path.suffix in tuple(FileKind) or path.name == LEADER_EPOCH_CHECKPOINT:
            found[path.name] = path.read_bytes()
    # An empty transaction index means the same as none.
    return {name: content for name, content in found.items() if content or not name.endswith(FileKind.TXN_INDEX)}


@pytest.mark.parametrize("damage", [cut, zero, flip, grow, stretch, lose_files])
@pytest.mark.parametrize(("archive", "partition"), PARTITIONS)
def test_the_same_files_are_left(archive: str, partition: str, damage: Damage, tmp_path: Path, jvm: ModuleType) -> None:
    configs = {
        name: str(value) for name, value in entry(archive)["topics"][partition.rpartition("-")[0]]["config"].items()
    }
    configs["retention.ms"] = "-1"
    for seed in range(CASES):
        theirs, ours = (tmp_path / side / str(seed) / partition for side in ("kafka", "octavo"))
        shutil.copytree(unpack(archive) / partition, theirs, ignore=shutil.ignore_patterns(f"*{Transient.DELETED}"))
        damage(theirs, random.Random(f"{partition} {damage.__name__} {seed}"))
        shutil.copytree(theirs, ours)
        size = {"internal.segment.bytes": configs["segment.bytes"]} if "segment.bytes" in configs else {}
        others = {name: value for name, value in configs.items() if name != "segment.bytes"}
        RealLog(jvm, theirs, clean=False, configs={**others, **size}).close()
        world = World(time.time_ns() // 1_000_000)  # as for Kafka, by whose clock producers expire
        request = LoadRequest(folder=ours, config=LogConfig.of(configs), environment=world.environment, clean=False)
        PartitionLog(request).close()
        assert contents(ours) == contents(theirs), f"seed {seed}"
