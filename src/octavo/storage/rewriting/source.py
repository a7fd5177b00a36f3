"""Reads a segment to be rewritten, chunk by chunk; damage raises an error with the file and the position."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from octavo import kernels
from octavo.errors import CorruptionError, CorruptRecordError
from octavo.format.batches.chunk_walk import Chunk
from octavo.format.batches.header import BatchHeader
from octavo.format.batches.problems import crc_mismatch
from octavo.format.batches.sound import flaw_of, unreadable
from octavo.format.names import FileKind, SegmentFile
from octavo.kernels.layout import BATCH, Flaw, Stop
from octavo.storage.segment.log_file import LogFile
from octavo.system.filesystem import FileSystem, LocalFileSystem
from octavo.system.regular_file import open_regular
from octavo.system.shown import count

_WINDOW_BYTES = 32 << 20
_WINDOW_ROWS = 1 << 13
_MAP_FLAGS = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)  # only Linux has MAP_POPULATE

# Called with the number of bytes just read or written; it may wait, to slow the work down, or raise, to abort it.
OnBytes = Callable[[int], None]


class SourceSegment(NamedTuple):
    """A segment to be rewritten, as it was when the rewrite was planned.

    Only compaction uses the sizes of the indexes and the end offset.
    """

    base_offset: int
    size: int
    offset_index_bytes: int
    time_index_bytes: int
    mtime_ms: int
    end_offset: int  # where the next segment or the uncleanable part begins

    def path(self, folder: Path) -> Path:
        return folder / SegmentFile(self.base_offset, FileKind.LOG).name


def read_chunks(
    filesystem: FileSystem, path: Path, size: int, position: int = 0, *, check_crc: bool = False
) -> Iterator[Chunk]:
    """The batches of a segment's log from a position on; raises CorruptionError at the first damage."""
    return _checked(LogFile(filesystem, path).chunks(position, size, check_crc=check_crc), path, size)


def view_chunks(filesystem: FileSystem, path: Path, size: int, position: int = 0) -> Iterator[Chunk]:
    """Like `read_chunks`, but without copying, for a pass that reads little of each record; CRCs are not checked.

    This saves a fifth of the work (measured with records of 100 bytes). A file that shrinks while it is mapped would
    crash the process, so this is only for closed segments of a locked directory. Its owner replaces or removes those;
    before a log is truncated, its cleaning is ended (`CleanerStates.paused`).
    """
    if not isinstance(filesystem, LocalFileSystem):
        return read_chunks(filesystem, path, size, position)
    return _checked(_windows(path, size, position), path, size)


def _windows(path: Path, size: int, position: int) -> Iterator[Chunk]:
    """The whole batches of the file, window by window."""
    table, length = np.empty(_WINDOW_ROWS, BATCH), _WINDOW_BYTES
    with open(open_regular(path), "rb") as file:  # noqa: PTH123 - a descriptor
        while position < size:
            start = position - position % mmap.ALLOCATIONGRANULARITY
            window, stop = min(length, size - start), Stop.TABLE_FULL
            # Mapping all pages at once costs less than a page fault for each.
            view = memoryview(mmap.mmap(file.fileno(), window, flags=_MAP_FLAGS, prot=mmap.PROT_READ, offset=start))
            first = position
            while stop == Stop.TABLE_FULL:
                rows, end, code = kernels.walk(view, position - start, window, table, False)
                stop, position = Stop(code), start + end
                is_last = stop == Stop.SIZE_TOO_SMALL or (start + window == size and stop != Stop.TABLE_FULL)
                if rows or is_last:
                    yield Chunk(view, table[:rows].view(np.uint8).data, start, stop if is_last else None, position)
                if is_last:
                    return
            length = _WINDOW_BYTES if position > first else 2 * length  # the batch is larger than the window


def _checked(chunks: Iterable[Chunk], path: Path, size: int) -> Iterator[Chunk]:
    for chunk in chunks:
        flawed = np.flatnonzero(unreadable(chunk.table))
        if len(flawed):
            raise _problem(chunk, int(flawed[0])).at(path=str(path))
        if len(chunk.table):
            yield chunk
        if chunk.stop not in (None, Stop.END):
            left = size - chunk.stop_position
            sentence = f"{count(left, 'byte')} that {'is' if left == 1 else 'are'} not a whole batch"
            raise CorruptRecordError(sentence, position=chunk.stop_position, path=str(path))


@contextmanager
def located(path: Path, chunk: Chunk) -> Iterator[None]:
    """Add the file and the position to errors about a chunk's bytes."""
    try:
        yield
    except CorruptionError as error:
        position = None if error.position is None else chunk.file_position + error.position
        raise error.at(position=position, path=str(path)) from None


def _problem(chunk: Chunk, row: int) -> CorruptionError:
    """The error for a flawed batch: rewriting it would give it a new CRC, and hide the damage."""
    header = BatchHeader.from_row(chunk.table[row])
    if header.flaws & Flaw.CRC_MISMATCH:
        error: CorruptionError = crc_mismatch(chunk.data, header)
    else:
        error = flaw_of(chunk.table[row])
    return error.at(position=chunk.file_position + header.position)
