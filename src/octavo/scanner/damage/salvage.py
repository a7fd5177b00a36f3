"""Walks that continue after damage, and report it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from octavo.format.batches.batch_summary import last_offsets
from octavo.format.batches.chunk_walk import Chunk
from octavo.format.batches.sound import broken
from octavo.kernels.layout import BROKEN, Stop
from octavo.scanner.damage.resync import next_sound_position
from octavo.scanner.places.location import ReadableFile
from octavo.scanner.places.segment_log import walk_file


class Gap(NamedTuple):
    """Where a walk could not follow the batches, and where it continued (None if nowhere)."""

    stop: Stop
    position: int
    resumed: int | None


def walk_past(
    log: ReadableFile, start: int, end: int, next_offset: int, on_gap: Callable[[Gap], None] | None = None
) -> Iterator[Chunk]:
    """All whole batches between two positions, including those after damage; `on_gap` is called for each gap.

    `next_offset` is a lower bound for the first batch's offsets.
    """
    resumed: int | None = start
    while resumed is not None:
        stop, stop_position = Stop.END, end
        for chunk in walk_into(log, resumed, end, next_offset):
            next_offset = _next_offset_after(chunk, next_offset)
            if chunk.stop is not None:
                stop, stop_position = chunk.stop, chunk.stop_position
            yield chunk
        if stop is Stop.END:
            return
        resumed = next_sound_position(log, stop_position + 1, end, next_offset)
        if on_gap is not None:
            on_gap(Gap(stop, stop_position, resumed))


def walk_into(log: ReadableFile, start: int, end: int, next_offset: int, path: str = "") -> Iterator[Chunk]:
    """The batches from a position on, as far as they can be followed.

    The length of a damaged batch may itself be damaged. If the next batch does not continue its offsets, or is not in
    the same chunk, the bytes that the damaged batch claims are searched for a sound one, and the walk continues there.
    """
    resumed: int | None = start
    while resumed is not None:
        start, resumed = resumed, None
        for chunk in walk_file(log, start, end, path=path):
            for row in _doubtful_rows(chunk) if chunk.summary.flaws & BROKEN else ():
                position = chunk.file_position + int(chunk.table[row]["position"])
                claimed = position + int(chunk.table[row]["size"])
                lowest = _next_offset(chunk, row, next_offset)
                resumed = next_sound_position(log, position + 1, end, lowest, before=claimed)
                if resumed is not None:
                    yield chunk.cut(row + 1, claimed)
                    break
            if resumed is not None:
                break
            next_offset = _next_offset_after(chunk, next_offset)
            yield chunk


def _doubtful_rows(chunk: Chunk) -> list[int]:
    """The damaged batches whose length may be wrong, because the next batch does not begin with the next offset, or is
    not in this chunk."""
    flawed = np.flatnonzero(broken(chunk.table))
    following = np.append(chunk.table["base_offset"][1:], -1)
    rows: list[int] = flawed[following[flawed] != last_offsets(chunk.table)[flawed] + 1].tolist()
    return rows


def _next_offset(chunk: Chunk, rows: int, next_offset: int) -> int:
    """The offset after the last sound batch among the first rows of a chunk; `next_offset` if there is none."""
    sound = np.flatnonzero(~broken(chunk.table[:rows]))
    return int(last_offsets(chunk.table[sound[-1:]])[0]) + 1 if len(sound) else next_offset


def _next_offset_after(chunk: Chunk, next_offset: int) -> int:
    """`_next_offset` for a whole chunk, from its summary if possible."""
    if chunk.summary.flaws & BROKEN or not len(chunk.table):
        return _next_offset(chunk, len(chunk.table), next_offset)
    return chunk.summary.last_offset + 1
