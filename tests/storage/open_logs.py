"""Small logs for tests: opened, filled and read as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from octavo.config import Given, LogConfig
from octavo.format.batches.control import ControlType
from octavo.format.batches.walker import walk
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.log.read import Isolation
from octavo.storage.partition_log import PartitionLog
from octavo.storage.recovery.load import LoadRequest
from tests.storage.batches import batch
from tests.storage.producer_batches import marker
from tests.storage.worlds import NOW_MS, World

SMALL = {"segment.bytes": 1000, "index.interval.bytes": 200, "retention.ms": -1}


def open_log(
    world: World,
    folder: Path,
    configs: Mapping[str, Given] = SMALL,
    *,
    clean: bool = True,
    log_start_offset: int = 0,
    recovery_point: int = 0,
    upkeep: bool = False,
) -> PartitionLog:
    return PartitionLog(
        LoadRequest(
            folder=folder / "t-0",
            config=LogConfig.of(configs),
            environment=world.environment,
            clean=clean,
            log_start_offset=log_start_offset,
            recovery_point=recovery_point,
            upkeep=upkeep,
        )
    )


def fill(log: PartitionLog, batches: int, *, count: int = 2, timestamp: int = NOW_MS, epoch: int = 0) -> None:
    """Append batches of records with 100-byte values; the batches are one second apart."""
    for number in range(batches):
        log.append_as_leader(batch(0, count, timestamp=timestamp + 1000 * number), leader_epoch=epoch)


def end_transaction(log: PartitionLog, producer_id: int, kind: ControlType) -> None:
    """Append a marker, as the transaction coordinator does."""
    data = marker(0, kind, producer_id=producer_id)
    log.append_as_leader(bytearray(data), leader_epoch=0, origin=AppendOrigin.COORDINATOR, transaction_version=1)


def offsets_read(log: PartitionLog, start: int = 0, isolation: Isolation = Isolation.READ_UNCOMMITTED) -> list[int]:
    """The base offsets of all batches from an offset on."""
    found: list[int] = []
    while True:
        fetched = log.read(start, 1 << 20, isolation)
        table = walk(fetched.read()).table
        if not len(table):
            return found
        found += table["base_offset"].tolist()
        start = int(table[-1]["base_offset"] + table[-1]["last_offset_delta"]) + 1


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "t-0").iterdir())
