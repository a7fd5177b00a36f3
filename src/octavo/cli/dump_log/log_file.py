"""A .log or .checkpoint file, read in chunks and at single positions."""

from __future__ import annotations

import os

from octavo.errors import CorruptionError
from octavo.kernels.layout import MAX_FILE_BYTES
from octavo.system.closing import Closing
from octavo.system.regular_file import open_regular


class DumpedLog(Closing):
    """Owns a file descriptor. `size` is the file's size when it was opened."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._descriptor = open_regular(path)
        self.size = os.fstat(self._descriptor).st_size
        if self.size > MAX_FILE_BYTES:
            self.close()
            raise CorruptionError(f"a segment of {self.size} bytes, at most {MAX_FILE_BYTES} are allowed", path=path)

    def close(self) -> None:
        os.close(self._descriptor)

    def read_at(self, position: int, size: int) -> bytes:
        """Read up to `size` bytes; fewer at the end of the file."""
        found = b""
        while len(found) < size and (more := os.pread(self._descriptor, size - len(found), position + len(found))):
            found += more
        return found

    def reader(self, start: int, end: int) -> RangeReader:
        return RangeReader(self._descriptor, start, end)


class RangeReader:
    """Reads a range of a file into buffers, call by call, for `walk_chunks`."""

    def __init__(self, descriptor: int, start: int, end: int) -> None:
        self._descriptor = descriptor
        self._at = start
        self._end = end

    def __call__(self, buffer: memoryview, /) -> int:
        got = os.preadv(self._descriptor, [buffer[: max(self._end - self._at, 0)]], self._at)
        self._at += got
        return got
