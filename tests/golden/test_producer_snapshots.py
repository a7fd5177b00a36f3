"""Replaying a real broker's log gives the producers' state and the aborted transactions that the broker wrote."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.format.batches.walker import walk
from octavo.format.indexes import txn_index
from octavo.format.small_files import producer_snapshot
from octavo.format.small_files.producer_snapshot import ProducerEntry
from octavo.storage.producers.state import PRODUCER_ID_EXPIRATION_MS, ProducerStateManager
from tests.golden import archives

DAMAGED = "v431-corrupt"  # on purpose
# 0.11 and 1.0 recorded other values for the last offset and timestamp after a marker.
NEWER = ("v431", "v392", "v282")
ARCHIVES = [name for name in archives.archives() if name.startswith(NEWER) and name != DAMAGED]
NEVER = 2**62


class Snapshot(NamedTuple):
    offset: int
    data: bytes
    written_ms: int

    @property
    def producers(self) -> dict[int, ProducerEntry]:
        return {entry.producer_id: entry for entry in producer_snapshot.decode(self.data)}


def snapshots(folder: Path) -> list[Snapshot]:
    """A partition's snapshots, and an empty one before offset 0."""
    paths = sorted(folder.glob("*.snapshot"))
    found = [Snapshot(int(path.stem), path.read_bytes(), path.stat().st_mtime_ns // 10**6) for path in paths]
    return [Snapshot(0, producer_snapshot.encode([]), 0), *found]


def partitions(archive: str) -> list[Path]:
    folders = sorted({path.parent for path in archives.files(archive, "*.snapshot")})
    return [folder for folder in folders if any(snapshot.producers for snapshot in snapshots(folder))]


def batches_between(folder: Path, start: int, end: int) -> Iterator[tuple[Path, memoryview, NDArray[np.void]]]:
    for path in sorted(folder.glob("*.log")):
        found = walk(path.read_bytes())
        rows = (found.table["base_offset"] >= start) & (found.table["base_offset"] < end)
        yield path, found.data, found.table[rows]


def are_as_written(folder: Path, start: int, end: int) -> bool:
    """Whether no batch with these offsets is missing or emptied, by compaction or retention."""
    table = np.concatenate([table for _, _, table in batches_between(folder, start, end)])
    next_offsets = table["base_offset"] + table["last_offset_delta"] + 1
    are_whole = (table["count"] == table["last_offset_delta"] + 1).all()
    return bool(are_whole and [*table["base_offset"], end] == [start, *next_offsets])


def replayed(folder: Path, snapshot: Snapshot, end: int) -> ProducerStateManager:
    manager = ProducerStateManager(expiration_ms=NEVER)
    manager.load(snapshot.data, snapshot.offset, 0)
    for _, data, table in batches_between(folder, snapshot.offset, end):
        assert manager.replay(data, table).damage is None
    return manager


def producers_of(manager: ProducerStateManager) -> dict[int, ProducerEntry]:
    entries = producer_snapshot.decode(producer_snapshot.encode_table(manager.table.snapshot()))
    return {entry.producer_id: entry for entry in entries}


def test_every_snapshot_follows_from_the_one_before() -> None:
    """Compared if all batches between them exist; a producer may have expired when the broker checked or restarted."""
    compared = expired = 0
    for folder in (folder for archive in ARCHIVES for folder in partitions(archive)):
        for before, after in pairwise(snapshots(folder)):
            if not are_as_written(folder, before.offset, after.offset):
                continue
            found = producers_of(replayed(folder, before, after.offset))
            for producer_id in found.keys() - after.producers.keys():
                gone = found.pop(producer_id)
                assert gone.current_txn_first_offset == -1
                assert after.written_ms - gone.timestamp >= PRODUCER_ID_EXPIRATION_MS
                expired += 1
            assert found == after.producers, (folder, after.offset)
            compared += len(found)
    assert compared > 200 and expired == 2


def test_0_11_took_a_marker_for_the_last_batch() -> None:
    (folder,) = partitions("v01103")
    ends_with_markers = 0
    for before, after in pairwise(snapshots(folder)):
        for producer_id, found in producers_of(replayed(folder, before, after.offset)).items():
            expected = after.producers[producer_id]
            ends_with_markers += expected.last_offset > found.last_offset
            assert found._replace(last_offset=0, offset_delta=0) == expected._replace(last_offset=0, offset_delta=0)
    assert ends_with_markers == 2


def test_every_transaction_index_follows_from_the_log() -> None:
    compared = 0
    for archive in (name for name in archives.archives() if name != DAMAGED):
        for folder in sorted({path.parent for path in archives.files(archive, "*.txnindex")}):
            offsets = np.concatenate([table["base_offset"] for _, _, table in batches_between(folder, 0, NEVER)])
            end = int(offsets[-1]) if len(offsets) else 0
            if not are_as_written(folder, 0, end):
                continue
            manager = ProducerStateManager(expiration_ms=NEVER)
            for path, data, table in batches_between(folder, 0, NEVER):
                aborted = manager.replay(data, table).aborted
                index = path.with_suffix(".txnindex")
                assert aborted == (txn_index.decode(index.read_bytes()).aborted if index.exists() else []), index
                compared += len(aborted)
    assert compared > 50
