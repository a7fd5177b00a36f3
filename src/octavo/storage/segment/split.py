"""Splits a segment whose offsets exceed what an index entry can hold.

Compaction in old brokers could create one by merging segments (KAFKA-5413).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from octavo.config import LogConfig
from octavo.errors import CorruptionError, OctavoError
from octavo.format.batches.batch_summary import last_offset, last_offsets
from octavo.format.batches.chunk_walk import Chunk
from octavo.format.batches.decoder import Decoder
from octavo.format.names import Transient
from octavo.kernels.integers import INT32_MAX
from octavo.kernels.layout import CODEC_MASK, Column
from octavo.storage.environment import Environment
from octavo.storage.segment.segment import Segment

_CHUNK_BYTES = 1 << 20


def split(segment: Segment, folder: Path, config: LogConfig, environment: Environment) -> list[Segment]:
    """Copy the batches into `.cleaned` segments in which all offsets fit, closed and synced, ready for a swap.

    If this fails, the new segments are removed again.
    """
    made: list[Segment] = []
    try:
        for chunk in segment.files.log.chunks(chunk_bytes=_CHUNK_BYTES):
            table, first = chunk.table, 0
            while first < len(table):
                if not made or not 0 <= last_offset(table[first]) - made[-1].base_offset <= INT32_MAX:
                    base_offset = _base_offset(chunk, first)
                    if made and base_offset <= made[-1].base_offset:
                        before = made[-1].base_offset
                        sentence = f"offset {base_offset} in a batch after offset {before}, expected a larger one"
                        position = chunk.file_position + int(table[first]["position"])
                        raise CorruptionError(sentence, position=position, path=str(segment.files.log.path))
                    made.append(_new_segment(base_offset, folder, config, environment))
                end = _end_of_run(made[-1], table, first)
                start, stop = int(table[first]["position"]), int(table[end - 1]["position"] + table[end - 1]["size"])
                made[-1].append(last_offset(table[end - 1]), chunk.data[start:stop], table[first:end])
                first = end
        for new in made:
            new.close_out()
            new.files.flush()
            environment.filesystem.set_mtime_ms(new.files.log.path, segment.files.log.mtime_ms)
        size = sum(new.size for new in made)
        if size != segment.size:
            raise OctavoError(f"split of {segment.files.log.path}: {size} bytes copied, expected {segment.size}")
    except BaseException:
        for new in made:
            new.files.unlink()
        raise
    return made


def _new_segment(base_offset: int, folder: Path, config: LogConfig, environment: Environment) -> Segment:
    filesystem, clock = environment.filesystem, environment.clock
    return Segment(folder, base_offset, config, filesystem, clock, transient=Transient.CLEANED, create=True)


def _end_of_run(segment: Segment, table: NDArray[np.void], first: int) -> int:
    relative = last_offsets(table[first:]) - segment.base_offset
    beyond = np.flatnonzero((relative < 0) | (relative > INT32_MAX))
    return first + int(beyond[0]) if len(beyond) else len(table)


def _base_offset(chunk: Chunk, row: int) -> int:
    """A batch's first offset; a compressed old message is decoded for it, since its header has only the last one."""
    batch = chunk.table[row]
    if batch["magic"] < 2 and batch["attributes"] & CODEC_MASK:
        return int(Decoder(Column.OFFSET).decode_one(chunk.data, batch).offset[0])
    return int(batch["base_offset"])
