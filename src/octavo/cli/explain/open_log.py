"""An open log file to be explained, up to its size when it was opened."""

from __future__ import annotations

from collections.abc import Iterator

from octavo.errors import CorruptionError
from octavo.format.batches.chunk_walk import Chunk
from octavo.kernels.layout import MAX_FILE_BYTES
from octavo.scanner.damage.resync import are_zeros
from octavo.scanner.places.location import Location, read_fully
from octavo.scanner.places.segment_log import walk_file
from octavo.system.closing import Closing


class OpenLog(Closing):
    """Owns the open file."""

    def __init__(self, location: Location) -> None:
        self.path = str(location)
        self.name = location.name
        self._file = location.open()
        self.size = self._file.size()
        if self.size > MAX_FILE_BYTES:
            self.close()
            raise CorruptionError(f"a segment of {self.size} bytes, expected at most {MAX_FILE_BYTES}")

    def close(self) -> None:
        self._file.close()

    def read_at(self, position: int, size: int) -> bytes:
        """Read up to `size` bytes; fewer at the end of the file."""
        content = memoryview(bytearray(min(size, max(self.size - position, 0))))
        return bytes(content[: read_fully(self._file, content, position)])

    def walk(self, *, check_crc: bool = True) -> Iterator[Chunk]:
        """The batches of the file."""
        return walk_file(self._file, 0, self.size, check_crc=check_crc)

    def ends_in_zeros(self, position: int) -> bool:
        """Whether the file holds nothing but zeros from here on."""
        return are_zeros(self._file, position, self.size)
