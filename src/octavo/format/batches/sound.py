"""The rule for sound batches, for code that follows a log, whatever it does at an unsound one.

There are two questions, because Kafka asks two:

- Can the log be followed past the batch? Not if it is `broken`: if its header is not whole, or its CRC is wrong.
  Kafka's recovery keeps a batch with an unknown magic, or with a count of -1.
- Can its records be read as well? Not if it is `unreadable`. A consumer fails at an unknown magic and at a negative
  count, and no broker accepts such a batch from a producer, nor one that ends before it begins.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.errors import CorruptionError, CorruptRecordError
from octavo.format.batches.batch_summary import BatchSummary, last_offset, last_offsets, summarize
from octavo.format.batches.chunk_walk import Chunk
from octavo.format.batches.walker import STOP_TEXTS
from octavo.kernels.integers import INT32_MAX
from octavo.kernels.layout import BROKEN, Flaw

_UNREADABLE = BROKEN | int(Flaw.UNKNOWN_MAGIC)
_V2 = 2


def broken(table: NDArray[np.void]) -> NDArray[np.bool_]:
    """The batches past which the log cannot be followed."""
    mask: NDArray[np.bool_] = table["flaws"] & BROKEN != 0
    return mask


def unreadable(table: NDArray[np.void]) -> NDArray[np.bool_]:
    """The batches whose records cannot be read, judging by their headers."""
    mask: NDArray[np.bool_] = table["flaws"] & _UNREADABLE != 0
    mask |= (table["magic"] >= _V2) & ((table["count"] < 0) | (table["last_offset_delta"] < 0))
    return mask


def are_readable(found: BatchSummary) -> bool:
    """Whether the summary rules out that any batch is `unreadable`, as it does for most tables."""
    return found.produced and not found.flaws & _UNREADABLE


def flaw_of(batch: np.void) -> CorruptRecordError:
    """What makes a batch unreadable."""
    flaws, offset = Flaw(int(batch["flaws"])), int(batch["base_offset"])
    if flaws & Flaw.UNKNOWN_MAGIC:
        return CorruptRecordError(f"a batch of magic {batch['magic']} at offset {offset}, expected 0, 1 or 2")
    if flaws & Flaw.TOO_SHORT:
        return CorruptRecordError(f"a batch of {batch['size']} bytes at offset {offset}, too short for its header")
    if flaws & Flaw.CRC_MISMATCH:
        last, count = last_offset(batch), int(batch["count"])
        records = "1 record" if count == 1 else f"{count} records"
        header = f" (up to {last}, {records})" if count > 0 else ""  # a wrapper's count is not known
        return CorruptRecordError(
            f"a batch at offset {offset}{header} whose CRC does not match the stored {batch['crc']}"
        )
    found = (
        f"a batch at offset {offset} of {batch['count']} records with last offset delta {batch['last_offset_delta']}"
    )
    return CorruptRecordError(f"{found}, expected 0 or more")


class SoundPart(NamedTuple):
    """The batches of a chunk before the first broken one, and what is wrong there (None if the chunk is sound)."""

    table: NDArray[np.void]
    found: BatchSummary  # its `end` is the size of the part, since a chunk begins with a batch
    problem: str | None


def sound_part(chunk: Chunk, base_offset: int) -> SoundPart:
    """The part of a chunk that belongs to the segment with this base offset.

    The CRC does not cover the offset, so a batch whose offsets cannot belong to this segment counts as broken, too.
    Batches whose offsets decrease within the segment stay: see `docs/decisions/0010-crashes.md`.
    """
    table, found = chunk.table, chunk.summary
    is_ordinary = found.ascending and base_offset <= found.first_last_offset and not found.flaws & BROKEN
    if not is_ordinary or found.last_offset - base_offset > INT32_MAX:
        stops = np.flatnonzero(broken(table) | _is_elsewhere(table, base_offset))
        if len(stops):
            table = table[: stops[0]]
            return SoundPart(table, summarize(table), _flaw(chunk.table[stops[0]], base_offset))
    return SoundPart(table, found, None if chunk.stop is None else STOP_TEXTS.get(chunk.stop))


def up_to_marker(table: NDArray[np.void], rows: int, damage: CorruptionError) -> tuple[NDArray[np.void], str]:
    """The batches up to and including an unreadable transaction marker, which follows `rows` sound ones, and what is
    wrong.

    Kafka notices such a marker only after it has counted its batch as sound.
    """
    return table[: rows + 1], damage.problem


def _flaw(batch: np.void, base_offset: int) -> str:
    if batch["flaws"] & BROKEN:
        flaw = "its CRC is wrong" if batch["flaws"] & Flaw.CRC_MISMATCH else "it is shorter than its header"
    else:
        flaw = f"it does not belong to the segment with base offset {base_offset}"
    return f"batch with base offset {batch['base_offset']}: {flaw}"


def _is_elsewhere(table: NDArray[np.void], base_offset: int) -> NDArray[np.bool_]:
    """Which batches lie before the segment, or too far from its base offset for an index entry.

    A batch may begin before the segment if it ends within it: compaction and splits leave such batches. One that is too
    far away may be valid, in a segment that still has to be split, as long as offsets only increase.
    """
    last = last_offsets(table)
    found: NDArray[np.bool_] = last < base_offset
    far = last - base_offset > INT32_MAX
    if far.any():
        lowest_from = np.minimum.accumulate(last[::-1])[::-1]
        found |= far & (lowest_from < last)
    return found
