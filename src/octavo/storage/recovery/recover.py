"""Rebuilds a segment after an unclean stop: checks its batches, cuts what is not sound and builds its indexes again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.format.batches.batch_summary import BatchSummary, last_offsets, summarize
from octavo.format.batches.sound import sound_part, up_to_marker
from octavo.format.batches.walker import STOP_TEXTS
from octavo.kernels.layout import Stop
from octavo.storage.log.epochs import LeaderEpochs
from octavo.storage.producers.state import ProducerStateManager
from octavo.storage.segment.segment import Segment
from octavo.system.runner import Progress

# More than readers read at once, for fewer calls: nothing is decoded, so the CPU's cache does not matter.
_CHUNK_BYTES = 8 << 20

# Called before bytes are cut off a log file: its path, and the positions where they begin and end.
OnLoss = Callable[[Path, int, int], None]


def no_progress(_: int) -> None:
    """A callback that ignores progress."""


def no_loss(_: Path, __: int, ___: int) -> None:
    """A callback that ignores losses."""


class Recovered(NamedTuple):
    """The result of recovering a segment."""

    base_offset: int
    size: int  # size of the part that was kept
    bytes_cut: int
    problem: str | None  # what is wrong where the kept part ends
    rising_size: int  # end of the last batch whose last offset is the largest so far


class Checked(NamedTuple):
    """How far a segment's batches are sound."""

    end_position: int
    problem: str | None  # what is wrong there


def check_segment(segment: Segment, progress: Progress = no_progress) -> Checked:
    """Check every batch from the first one on. Changes nothing, so segments can be checked in parallel."""
    end_position, problem = 0, None
    for chunk in segment.files.log.chunks(chunk_bytes=_CHUNK_BYTES, check_crc=True):
        _, found, problem = sound_part(chunk, segment.base_offset)
        end_position += found.end
        progress(found.end)
        if problem is not None:
            break
    progress(segment.size - end_position)
    return Checked(end_position, _explained(problem, segment, end_position))


def recover_segment(
    segment: Segment,
    producers: ProducerStateManager,
    epochs: LeaderEpochs,
    checked: Checked | None = None,
    *,
    progress: Progress = no_progress,
    on_loss: OnLoss = no_loss,
) -> Recovered:
    """Check every batch from the first one on, unless `checked` is given, and end the segment before the first broken
    one.

    `producers` is the state at the segment's base offset, and is moved to its end. 1. Empty the indexes. 2. Walk the
    batches, rebuilding the offset index, time index, transaction index, epochs and producers. 3. Cut the log after the
    last sound batch. 4. Write the closing time index entry and trim the indexes. After a crash in between, the next
    load repeats all of it: the recovery point is still where it was, or the offset index does not have its name yet.
    """
    segment.reset_index()
    valid, problem, rising = 0, None, _Rising(segment.base_offset - 1)
    progress = progress if checked is None else no_progress  # the check has already reported all bytes
    end = None if checked is None else checked.end_position
    for chunk in segment.files.log.chunks(end=end, chunk_bytes=_CHUNK_BYTES, check_crc=checked is None):
        table, found, problem = sound_part(chunk, segment.base_offset)
        if len(table):
            if not found.ascending:
                segment.check_offset(int(last_offsets(table).max()))
            segment.check_offset(found.last_offset)
            replay = producers.replay(chunk.data, table, found)
            if replay.damage is not None:
                table, problem = up_to_marker(table, replay.rows, replay.damage)
                found = summarize(table)
            segment.index(table, valid)
            if not epochs.is_continued(found):
                epochs.assign_batches(table, only_greater=True)
            for aborted in replay.aborted:
                segment.files.txn_index.append(aborted)
            rising.add(table, found, valid)
            valid += found.end
            progress(found.end)
        if problem is not None:
            break
    if checked is None:
        problem = _explained(problem, segment, valid)
    elif problem is None:
        problem = checked.problem
    progress(segment.size - valid)
    if valid < segment.size:
        on_loss(segment.files.log.path, valid, segment.size)
    bytes_cut = segment.files.log.truncate_to(valid)
    segment.close_out()
    return Recovered(segment.base_offset, valid, bytes_cut, problem if bytes_cut else None, rising.size)


class _Rising:
    """Tracks how far a segment's offsets rise. No CRC covers them, so a batch torn by a crash may have a lower one."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self.size = 0

    def add(self, table: NDArray[np.void], found: BatchSummary, position: int) -> None:
        """Add the batches at a position."""
        if found.ascending and found.first_last_offset > self._largest:
            self._largest, self.size = found.last_offset, position + found.end
            return
        last = last_offsets(table)
        before = np.maximum.accumulate(np.concatenate(([self._largest], last)))[:-1]
        higher = np.flatnonzero(last > before)
        if len(higher):
            self._largest = int(last[higher[-1]])
            self.size = position + int(table["size"][: higher[-1] + 1].sum(dtype=np.int64))


def _explained(problem: str | None, segment: Segment, position: int) -> str | None:
    """Why a segment ends: bytes that are not a batch may be preallocated space."""
    if problem == STOP_TEXTS[Stop.SIZE_TOO_SMALL] and segment.files.log.is_zero_from(position):
        return "zeros of a preallocated file"
    return problem
