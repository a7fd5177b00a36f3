"""Opens a partition's folder with Kafka's own log and with ours, to compare what is in it afterwards."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from octavo.config import LogConfig
from octavo.format.names import LEADER_EPOCH_CHECKPOINT, FileKind, Transient
from octavo.format.small_files import producer_snapshot
from octavo.storage.partition_log import PartitionLog
from octavo.storage.recovery.load import LoadRequest
from tests.golden.archives import entry, unpack
from tests.interop.real_log import RealLog
from tests.storage.worlds import World


class Place(NamedTuple):
    """A copy of a golden partition with its topic's configs, except for retention by time, since all of it is old."""

    folder: Path
    configs: dict[str, str]


def golden_copy(archive: str, partition: str, folder: Path, configs: dict[str, str] | None = None) -> Place:
    """Files marked as deleted are left out: Kafka's log removes them in its own time."""
    shutil.copytree(unpack(archive) / partition, folder, ignore=shutil.ignore_patterns(f"*{Transient.DELETED}"))
    given = entry(archive)["topics"][partition.rpartition("-")[0]]["config"]
    own = {name: str(value) for name, value in given.items()}
    return Place(folder, {**own, "retention.ms": "-1", **(configs or {})})


def open_theirs(jvm: ModuleType, place: Place, *, clean: bool) -> RealLog:
    """Today's Kafka accepts a small segment size only under the config's internal name."""
    configs = dict(place.configs)
    if "segment.bytes" in configs:
        configs["internal.segment.bytes"] = configs.pop("segment.bytes")
    return RealLog(jvm, place.folder, clean=clean, configs=configs)


def open_ours(place: Place, *, clean: bool) -> PartitionLog:
    """Uses the machine's clock, like Kafka, because producers expire by it."""
    world, config = World(time.time_ns() // 1_000_000), LogConfig.of(place.configs)
    return PartitionLog(LoadRequest(folder=place.folder, config=config, environment=world.environment, clean=clean))


def contents(folder: Path) -> dict[str, object]:
    """Files by name. A snapshot's producers are sorted, since Kafka writes them in the order of a hash table."""
    found: dict[str, object] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix == FileKind.PRODUCER_SNAPSHOT:
            found[path.name] = sorted(map(repr, producer_snapshot.decode(path.read_bytes())))
        elif path.suffix in tuple(FileKind) or path.name == LEADER_EPOCH_CHECKPOINT:
            found[path.name] = path.read_bytes()
    # An empty transaction index means the same as a missing one.
    return {name: content for name, content in found.items() if content or not name.endswith(FileKind.TXN_INDEX)}
