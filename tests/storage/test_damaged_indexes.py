"""Indexes damaged while the directory was closed are detected, rebuilt from the log and reported."""

from __future__ import annotations

import logging
import random
import threading
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from octavo.format.indexes.offset_index import OffsetIndex
from octavo.format.names import FileKind
from octavo.format.record import SpecialTimestamp
from octavo.storage.partition_log import PartitionLog
from octavo.storage.segment.segment import Segment
from tests.storage.open_logs import fill, offsets_read, open_log
from tests.storage.worlds import NOW_MS, World

BATCHES = 27
KINDS = [FileKind.OFFSET_INDEX, FileKind.TIME_INDEX]


@pytest.fixture
def closed(tmp_path: Path) -> PartitionLog:
    log = open_log(World(), tmp_path, {"segment.bytes": 2000, "index.interval.bytes": 100, "retention.ms": -1})
    fill(log, BATCHES)
    log.close()
    return log


def paths(log: PartitionLog, kind: FileKind) -> list[Path]:
    return [segment.files.path(kind) for segment in log.segments]


def check(again: PartitionLog) -> None:
    assert offsets_read(again) == list(range(0, 2 * BATCHES, 2))
    for offset in range(2 * BATCHES):
        assert again.read(offset, 1).start.offset == offset // 2 * 2
    for number in range(BATCHES):
        assert again.offset_for_timestamp(NOW_MS + 1000 * number).offset == 2 * number
    assert again.offset_for_timestamp(SpecialTimestamp.MAX_TIMESTAMP).offset >= 2 * (BATCHES - 1)


@pytest.mark.parametrize("damage", ["random", "ff", "descending", "huge"])
@pytest.mark.parametrize("place", [0, -1], ids=["closed segment", "active segment"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_an_impossible_index_is_rebuilt(
    closed: PartitionLog,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    kind: FileKind,
    place: int,
    damage: str,
) -> None:
    path = paths(closed, kind)[place]
    sound = path.read_bytes()
    if damage == "huge":
        with path.open("r+b") as file:
            file.truncate(8 << 30)
    else:
        entries = [sound[at : at + 12] for at in range(0, len(sound), 12)]
        content = {
            "random": random.Random(3).randbytes(240),
            "ff": b"\xff" * 240,
            "descending": b"".join(entries[::-1]),
        }
        path.write_bytes(content[damage])
    with caplog.at_level(logging.WARNING):
        check(open_log(World(), tmp_path))
    assert str(path) in caplog.text
    assert path.read_bytes() == sound


def test_an_entry_that_is_in_order_and_wrong_is_found_out(
    closed: PartitionLog, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its position is between its neighbours', but no batch begins there."""
    for path in paths(closed, FileKind.OFFSET_INDEX):
        sound = path.read_bytes()
        damaged = bytearray(sound)
        damaged[-1] ^= 1
        path.write_bytes(damaged)
        with caplog.at_level(logging.WARNING):
            check(open_log(World(), tmp_path))
        assert f"{path}: the entry for offset" in caplog.text
        assert path.read_bytes() == sound


def test_a_reader_does_not_rebuild_an_index_in_the_middle_of_an_append(
    closed: PartitionLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the index would already hold the batch's entry when the append adds it."""
    log = open_log(World(), tmp_path, {"segment.bytes": 9000, "index.interval.bytes": 100})
    active = log.segments.active
    fill(log, 2, timestamp=NOW_MS + 1000 * BATCHES)
    path, damaged = active.files.offset_index.path, active.files.offset_index.lookup(active.base_offset + 4)
    with path.open("r+b") as file:
        file.seek(7)  # the last byte of the first entry's position
        file.write(bytes([damaged.position % 256 ^ 1]))
    reader = threading.Thread(target=log.read, args=(damaged.offset, 1))
    index = Segment.index

    def read_before_index(self: Segment, table: NDArray[np.void], position: int) -> None:
        monkeypatch.setattr(Segment, "index", index)
        reader.start()
        reader.join(0.2)  # it waits for the append
        index(self, table, position)

    monkeypatch.setattr(Segment, "index", read_before_index)
    fill(log, 1, timestamp=NOW_MS + 1000 * (BATCHES + 2))
    reader.join()
    assert active.files.offset_index.problem is not None
    entries = list(OffsetIndex.decode(path.read_bytes(), active.base_offset).used())
    segment_log = active.files.log
    assert entries == sorted(set(entries))
    assert all(segment_log.begins_batch(entry, segment_log.head(entry.position)) for entry in entries)


def test_sound_indexes_are_left_alone(closed: PartitionLog, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = {path: path.stat().st_mtime_ns for kind in KINDS for path in paths(closed, kind)}
    with caplog.at_level(logging.WARNING):
        check(open_log(World(), tmp_path))
    assert not caplog.records
    assert {path: path.stat().st_mtime_ns for path in before} == before
