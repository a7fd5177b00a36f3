"""Segments: appends with their index entries, searches, truncation, closing."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.config import LogConfig
from octavo.format.indexes.offset_index import OffsetPosition
from octavo.format.indexes.time_index import TimestampOffset
from octavo.format.legacy.message_set import encode_message_set
from octavo.format.record import Record
from octavo.storage.segment.log_file import BatchPlace, SearchBy
from octavo.storage.segment.segment import SegmentOffsetOverflowError
from tests.storage.batches import batch, walked
from tests.storage.worlds import World

SPARSE = LogConfig.of({"index.interval.bytes": 300, "segment.index.bytes": 100})


def ten_batches() -> list[bytes]:
    """Offsets 0 to 29, three records per batch."""
    return [batch(3 * number, 3, timestamp=1000 * number, value_bytes=20) for number in range(10)]


# L6: appends are sequential, nothing already written is changed
def test_append_only_adds_bytes(tmp_path: Path, world: World) -> None:
    segment, written = world.segment(tmp_path), b""
    for data in ten_batches():
        segment.append(10**6, *walked(data))
        assert segment.files.log.path.read_bytes() == written + data
        written += data
    assert segment.size == len(written)


def test_one_append_of_all_gives_the_same_files_as_one_per_batch(tmp_path: Path, world: World) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "all").mkdir()
    one_by_one = world.segment(tmp_path / "one", *ten_batches(), config=SPARSE)
    together = world.segment(tmp_path / "all", config=SPARSE)
    together.append(29, *walked(*ten_batches()))
    one_by_one.close_out()
    together.close_out()
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "all" / path.name).read_bytes()


def test_first_batch_is_never_indexed(tmp_path: Path, world: World) -> None:
    everything = LogConfig.of({"index.interval.bytes": 0})
    segment = world.segment(tmp_path, *ten_batches(), config=everything)
    size = len(ten_batches()[0])
    assert len(segment.files.offset_index) == 9
    assert segment.files.offset_index.lookup(5) == OffsetPosition(5, size)
    assert segment.files.offset_index.lookup(4) == OffsetPosition(0, 0)


def test_reopened_segment_counts_from_zero(tmp_path: Path, world: World) -> None:
    everything = LogConfig.of({"index.interval.bytes": 0})
    first, second, third = ten_batches()[:3]
    world.segment(tmp_path, first, config=everything).close_out()
    segment = world.segment(tmp_path, second, third, config=everything, create=False)
    assert [segment.files.offset_index.lookup(offset).position for offset in (5, 8)] == [0, len(first + second)]


def test_set_with_more_entries_than_an_index_holds_fills_it(tmp_path: Path, world: World) -> None:
    config = LogConfig.of({"index.interval.bytes": 0, "segment.index.bytes": 40})
    segment = world.segment(tmp_path, config=config)
    segment.append(29, *walked(*ten_batches()))
    assert (len(segment.files.offset_index), len(segment.files.time_index)) == (5, 2)
    assert segment.is_index_full
    assert segment.find_batch(29) is not None
    segment.close_out()
    assert segment.files.time_index.last() == TimestampOffset(9002, 29)


def test_a_batch_is_found_by_each_of_its_offsets_and_the_next_offset_is_known(tmp_path: Path, world: World) -> None:
    batches = ten_batches()
    segment = world.segment(tmp_path, *batches, config=SPARSE)
    sizes = [len(data) for data in batches]
    assert segment.find_batch(0) == BatchPlace(0, 0, sizes[0])
    assert segment.find_batch(16) == BatchPlace(15, sum(sizes[:5]), sizes[5])
    assert segment.find_batch(30) is None
    assert segment.tail().next_offset == 30
    (tmp_path / "empty").mkdir()
    assert world.segment(tmp_path / "empty", base_offset=7).tail().next_offset == 7


def test_a_batch_that_is_larger_than_a_chunk_is_found(tmp_path: Path, world: World) -> None:
    large = batch(1, 1, value_bytes=100_000)
    segment = world.segment(tmp_path, batch(0), large, batch(2))
    assert segment.find_batch(1) == BatchPlace(1, len(batch(0)), len(large))
    assert segment.find_batch(2) == BatchPlace(2, len(batch(0)) + len(large), len(batch(2)))


def test_offset_that_does_not_fit_is_refused_before_anything_is_written(tmp_path: Path, world: World) -> None:
    segment = world.segment(tmp_path, base_offset=10)
    for offset in (9, 10 + 2**31):
        with pytest.raises(SegmentOffsetOverflowError, match=f"offset {offset} does not fit .* base offset 10"):
            segment.append(offset, *walked(batch(offset)))
    assert segment.size == 0


def test_a_segment_knows_its_first_and_its_largest_timestamp(tmp_path: Path, world: World) -> None:
    segment = world.segment(tmp_path)
    assert (segment.max_so_far, segment.first_timestamp) == (TimestampOffset(-1, 0), -1)
    assert segment.largest_timestamp == segment.files.log.mtime_ms
    for data in (batch(0, timestamp=5000), batch(1, timestamp=9000), batch(2, timestamp=9000)):
        segment.append(2, *walked(data))
    assert (segment.max_so_far, segment.first_timestamp) == (TimestampOffset(9000, 1), 5000)
    assert segment.largest_timestamp == 9000


def test_truncation_removes_the_batch_that_spans_the_offset(tmp_path: Path, world: World) -> None:
    batches = ten_batches()
    segment = world.segment(tmp_path, *batches, config=SPARSE)
    segment.truncate_to(16)
    assert segment.files.log.path.read_bytes() == b"".join(batches[:5])
    assert segment.tail().next_offset == 15
    assert segment.max_so_far == TimestampOffset(4002, 14)
    assert segment.files.offset_index.last().offset < 16
    segment.truncate_to(100)
    assert segment.size == sum(map(len, batches[:5]))


def test_truncation_to_nothing_starts_over(tmp_path: Path, world: World) -> None:
    segment = world.segment(tmp_path, *ten_batches(), config=SPARSE)
    world.clock.advance(77)
    segment.truncate_to(0)
    assert (segment.size, segment.tail().next_offset, segment.first_timestamp) == (0, 0, -1)
    assert segment.max_so_far == TimestampOffset(-1, 0)
    assert segment.created_ms == world.clock.time_ms()
    assert len(segment.files.offset_index) == len(segment.files.time_index) == 0


# I6
def test_close_out_trims_indexes_and_preallocated_log(tmp_path: Path, world: World) -> None:
    config = LogConfig.of({"preallocate": True, "segment.bytes": 8192, "segment.index.bytes": 100})
    segment = world.segment(tmp_path, batch(0), config=config)
    path = segment.files.log.path
    assert path.stat().st_size == 8192
    segment.close_out()
    assert path.read_bytes() == batch(0)
    assert path.with_suffix(".index").stat().st_size == 0
    assert path.with_suffix(".timeindex").stat().st_size == 12


def test_jitter_is_drawn_below_its_limit(tmp_path: Path, world: World) -> None:
    config = LogConfig.of({"segment.jitter.ms": 5, "segment.ms": 3})
    drawn = {world.segment(tmp_path, config=config).jitter_ms for _ in range(100)}
    assert drawn <= {0, 1, 2}
    assert len(drawn) > 1
    assert world.segment(tmp_path).jitter_ms == 0


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("before", [b"", batch(0)], ids=["alone", "after-a-batch"])
def test_finds_a_message_that_is_shorter_than_a_batch_header(
    tmp_path: Path, world: World, magic: int, before: bytes
) -> None:
    last = 1 if before else 0
    message = encode_message_set([Record(last, 1000, None, b"old")], magic)
    segment = world.segment(tmp_path, *filter(None, (before, message)))
    expected = BatchPlace(last, len(before), len(message))
    assert segment.find_batch(last) == expected
    assert segment.find_batch(last + 1) is None
    by_time = segment.files.log.find(SearchBy.MAX_TIMESTAMP, 1000, len(before))
    assert by_time == (expected if magic else None)


def test_finds_the_last_message_wherever_a_read_ends(tmp_path: Path, world: World) -> None:
    segment = world.segment(tmp_path)
    for offset in range(300):
        segment.append(offset, *walked(encode_message_set([Record(offset, 1000, None, b"x")], 1)))
        found = segment.files.log.find(SearchBy.LAST_OFFSET, offset, 0)
        assert found is not None
        assert found.base_offset == offset
