"""Which segments are merged into one."""

from __future__ import annotations

from octavo.config import LogConfig
from octavo.storage.cleaner.map_keys import group_segments
from octavo.storage.rewriting.source import SourceSegment


def segments(*sizes: int, step: int = 100, index: int = 0, times: int = 0) -> list[SourceSegment]:
    return [SourceSegment(n * step, size, index, times, 0, (n + 1) * step) for n, size in enumerate(sizes)]


def grouped(given: list[SourceSegment], **configs: int) -> list[list[int]]:
    config = LogConfig.of({name.replace("_", "."): value for name, value in configs.items()})
    end = given[-1].end_offset
    return [[segment.size for segment in group] for group in group_segments(given, config, end)]


def test_neighbours_join_while_they_fit() -> None:
    # C12
    tenths = [4, 4, 3, 7, 3, 10]
    found = grouped(segments(*(tenth * 100 for tenth in tenths)), segment_bytes=1000)
    assert [[size // 100 for size in group] for group in found] == [[4, 4], [3, 7], [3], [10]]


def test_the_indexes_must_fit_too() -> None:
    # C12
    assert grouped(segments(1, 1, 1, index=8), segment_index_bytes=16) == [[1, 1], [1]]
    assert grouped(segments(1, 1, 1, times=12), segment_index_bytes=24) == [[1, 1], [1]]


def test_offsets_must_be_in_reach_of_the_first() -> None:
    assert grouped(segments(1, 1, 1, step=1 << 30)) == [[1, 1], [1]]
    assert grouped(segments(1, 0, 0, 1, step=1 << 30)) == [[1, 0, 0], [1]]


def test_a_segment_that_is_too_large_stays_alone() -> None:
    assert grouped(segments(5, 2000, 5), segment_bytes=1000) == [[5], [2000], [5]]
