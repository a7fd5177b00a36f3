"""Segments whose offsets are too far apart for index entries are split when they are loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.config import LogConfig
from octavo.errors import CorruptionError
from octavo.format.compression import Codec
from octavo.format.legacy.message_set import encode_message_set
from octavo.format.record import Record
from octavo.storage.partition_log import PartitionLog
from octavo.storage.segment.segment import Segment
from octavo.storage.segment.split import split
from tests.storage.batches import batch
from tests.storage.open_logs import open_log
from tests.storage.worlds import World

FAR = 2**31


def load(world: World, folder: Path, *, clean: bool = False) -> PartitionLog:
    return open_log(world, folder.parent, {"index.interval.bytes": 0}, clean=clean)


def overflowed(tmp_path: Path, *batches: bytes) -> Path:
    folder = tmp_path / "t-0"
    folder.mkdir()
    (folder / "00000000000000000000.log").write_bytes(b"".join(batches))
    return folder


@pytest.mark.parametrize("clean", [True, False])
def test_split_where_offsets_do_not_fit_any_more(tmp_path: Path, clean: bool) -> None:
    world = World()
    batches = [batch(0, 3), batch(100), batch(FAR, 2), batch(FAR + 5), batch(3 * FAR)]
    log = load(world, overflowed(tmp_path, *batches), clean=clean)
    assert log.segments.base_offsets == (0, FAR, 3 * FAR)
    assert [segment.files.log.path.read_bytes() for segment in log.segments] == [
        b"".join(batches[:2]),
        b"".join(batches[2:4]),
        batches[4],
    ]
    assert [segment.tail().next_offset for segment in log.segments] == [101, FAR + 6, 3 * FAR + 1]
    log.close()
    world.scheduler.advance(60_000)
    names = sorted(
        path.name for path in log.folder.iterdir() if path.suffix in (".log", ".cleaned", ".swap", ".deleted")
    )
    assert names == [f"{base:020}.log" for base in (0, FAR, 3 * FAR)]


def test_compressed_messages_are_opened_for_their_first_offset(tmp_path: Path) -> None:
    records = [Record(FAR + number, 5, b"k", b"v") for number in range(3)]
    wrapper = encode_message_set(records, 1, codec=Codec.GZIP)
    log = load(World(), overflowed(tmp_path, batch(0), wrapper))
    assert log.segments.base_offsets == (0, FAR)
    assert log.log_end_offset == FAR + 3


def test_offsets_that_go_back_cannot_be_split(tmp_path: Path) -> None:
    folder, world, config = overflowed(tmp_path, batch(0), batch(FAR), batch(1)), World(), LogConfig.of()
    segment = Segment(folder, 0, config, world.filesystem, world.clock)
    with pytest.raises(CorruptionError, match=f"offset 1 in a batch after offset {FAR}"):
        split(segment, folder, config, world.environment)
    assert [path.name for path in folder.iterdir() if path.suffix == ".cleaned"] == []


def test_an_offset_far_beyond_those_after_it_ends_the_segment(tmp_path: Path) -> None:
    log = load(World(), overflowed(tmp_path, batch(0), batch(FAR), batch(1)))
    problem = f"batch with base offset {FAR}: it does not belong to the segment with base offset 0"
    assert [recovered.problem for recovered in log.recovered] == [problem]
    assert (log.segments.base_offsets, log.log_end_offset) == ((0,), 1)


def test_batch_before_the_base_offset_ends_the_segment(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    folder.mkdir()
    (folder / "00000000000000000050.log").write_bytes(batch(50) + batch(49))
    log = load(World(), folder)
    assert [recovered.problem for recovered in log.recovered][:1] == [
        "batch with base offset 49: it does not belong to the segment with base offset 50"
    ]
    assert log.log_end_offset == 51
