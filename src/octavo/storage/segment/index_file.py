"""A segment's `.index` and `.timeindex` files: pre-sized and mapped while written, trimmed when done.

`format.indexes` has the entry layouts and the search; this module owns the files.
"""

from __future__ import annotations

import errno
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from octavo.format.indexes import time_index
from octavo.format.indexes.index import SparseIndex
from octavo.format.indexes.offset_index import OffsetIndex, OffsetPosition
from octavo.format.indexes.time_index import TimeIndex, TimestampOffset
from octavo.kernels.integers import INT32_MAX
from octavo.storage.files.open_files import OPEN_FILES
from octavo.system.filesystem import FileSystem, MappedFile

_Index = TypeVar("_Index", bound=SparseIndex[Any])

# Builds the entries from the segment's log when an index cannot be trusted.
Repair = Callable[[], bytes]

_log = logging.getLogger(__name__)


class IndexFile(Generic[_Index]):
    """An index of one segment, opened when first used. Thread-safe: a lock guards the mapping and the count.

    A file that was never trimmed ends in zeros; those slots are free, not entries. (Kafka counts them as entries
    until recovery rebuilds the file.) If entries are out of order, or too many for any index, the file is rebuilt from
    the log when it is first opened.
    """

    INDEX: ClassVar[type[SparseIndex[Any]]]
    KEPT_SLOTS: ClassVar[int] = 0  # slots that appends must leave free

    def __init__(
        self, filesystem: FileSystem, path: Path, base_offset: int, max_bytes: int, repair: Repair | None = None
    ) -> None:
        self.path = path
        self.base_offset = base_offset
        self.problem: str | None = None  # why the file was rebuilt
        self._repair = repair
        self._filesystem = filesystem
        self.entry_bytes = self.INDEX.LAYOUT.size
        self._full_bytes = self.INDEX.pre_sized_bytes(max_bytes)
        self._most = max_bytes // self.entry_bytes - self.KEPT_SLOTS
        self._lock = threading.RLock()
        self._mapping: MappedFile | None = None
        self._mapped_bytes = 0
        self._count: int | None = None
        self._room = 0  # meaningless while there is no count
        self._entries: _Index | None = None  # decoded from the mapping, for lookups
        self._is_retired = False

    def __len__(self) -> int:
        if (count := self._count) is not None:
            return count
        with self._lock:
            if self._count is None:
                self._open()
            return self._count or 0

    @property
    def room(self) -> int:
        """How many more entries can be appended; if none, the segment must be rolled first."""
        if self._count is None:
            len(self)
        return self._room

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at or after this offset."""
        with self._lock:
            kept = self._index().slots_below(offset)
            dropped = len(self) - kept
            if dropped > 0:
                # Overwrite dropped entries with zeros, so that they do not come back after a crash.
                self._readable().write(bytes(dropped * self.entry_bytes), kept * self.entry_bytes)
                self._set_count(kept)

    def reset(self) -> None:
        """Drop all entries."""
        with self._lock:
            self._unmap()
            self._filesystem.truncate(self.path, 0)
            self._set_count(0)

    def trim(self) -> None:
        """Cut the file to its entries; a missing file is created empty."""
        with self._lock:
            used = len(self) * self.entry_bytes
            if not self._filesystem.exists(self.path) or self._filesystem.size(self.path) != used:
                self._unmap()
                self._filesystem.truncate(self.path, used)

    def flush(self) -> None:
        """Sync the entries to disk."""
        with self._lock:
            if self._mapping is not None:
                self._mapping.flush()
            elif self._filesystem.exists(self.path):
                self._filesystem.open(self.path).fsync()

    def release(self) -> None:
        """Release the mapping; the next use maps the file again."""
        with self._lock:
            self._unmap()

    def release_if_idle(self) -> bool:
        """Release the mapping unless the lock is taken; returns whether it did.

        It must not wait: the caller may hold another index's lock, so two threads could wait for each other.
        """
        if not self._lock.acquire(blocking=False):
            return False
        try:
            self._drop_mapping()
        finally:
            self._lock.release()
        return True

    def retire(self) -> None:
        """Release the mapping for good: another object owns the file now, and may cut it.

        A reader that still gets here receives FileNotFoundError, and tries again under the log's lock.
        """
        with self._lock:
            self._is_retired = True
            self._unmap()

    def rebuild(self, problem: str) -> bool:
        """Write the entries again from the log, but only once; returns whether it did."""
        with self._lock:
            self._check_own()
            if self._repair is None or self.problem is not None:
                return False
            entries = self._repair()
            self._unmap()
            self._filesystem.truncate(self.path, 0)
            file = self._filesystem.open(self.path)
            file.pwrite(entries, 0)
            file.fsync()
            _log.warning("%s: %s; rebuilt from the log", self.path, problem)
            self._set_count(len(entries) // self.entry_bytes)
            self.problem = problem
            return True

    def rename(self, path: Path) -> None:
        """Move the file, if there is one."""
        with self._lock:
            self._unmap()
            if self._filesystem.exists(self.path):
                self._filesystem.rename(self.path, path)
            self.path = path

    def unlink(self) -> None:
        """Remove the file, if there is one."""
        with self._lock:
            self._unmap()
            self._filesystem.unlink(self.path)

    def append(self, entries: bytes) -> None:
        """Append whole entries; there must be room for them."""
        with self._lock:
            count = len(self) if self._count is None else self._count
            position = count * self.entry_bytes
            end = position + len(entries)
            self._writable(end).write(entries, position)
            self._set_count(end // self.entry_bytes)

    def _index(self) -> _Index:
        """The entries. Use them under the lock and do not keep them, since they hold the mapping."""
        if self._entries is None:
            count = len(self)
            self._entries = self._decode(self._readable().view()[: count * self.entry_bytes] if count else b"")
        return self._entries

    def _decode(self, data: bytes | memoryview) -> _Index:
        index: _Index = self.INDEX.decode(data, self.base_offset)  # type: ignore[assignment]
        return index

    def _open(self) -> None:
        count, problem = self._look()
        if problem is None or not self.rebuild(problem):
            self._set_count(count)  # last, since the count is read without the lock

    def _look(self) -> tuple[int, str | None]:
        """How many entries the file has, and what is wrong with them."""
        size = self._filesystem.size(self.path) if self._filesystem.exists(self.path) else 0
        if size > INT32_MAX:
            return 0, f"it has {size} bytes, more than any index can have"
        count = size // self.entry_bytes
        if not count:
            return 0, None
        entries = self._decode(self._map(count * self.entry_bytes).view()[: count * self.entry_bytes]).used()
        return len(entries), None if entries.is_ascending() else "its entries are out of order"

    def _set_count(self, count: int) -> None:
        self._room = max(self._most - count, 0)
        self._count, self._entries = count, None

    def _readable(self) -> MappedFile:
        return self._mapping or self._map(len(self) * self.entry_bytes)

    def _writable(self, needed_bytes: int) -> MappedFile:
        """A mapping of the whole file, which is first extended to its full size if necessary."""
        mapped = self._mapped_bytes
        if self._mapping is not None and mapped >= needed_bytes and mapped >= self._full_bytes:
            return self._mapping
        full_bytes = max(self._full_bytes, needed_bytes)
        self._unmap()
        self._filesystem.truncate(self.path, full_bytes)
        return self._map(full_bytes)

    def _map(self, size: int) -> MappedFile:
        self._check_own()
        self._mapping = mapping = self._filesystem.map(self.path, size)
        self._mapped_bytes = size
        OPEN_FILES.opened(self)
        return mapping

    def _check_own(self) -> None:
        if self._is_retired:
            raise FileNotFoundError(errno.ENOENT, "the log was loaded again", str(self.path))

    def _unmap(self) -> None:
        if self._mapping is not None:
            OPEN_FILES.released(self)
        self._drop_mapping()

    def _drop_mapping(self) -> None:
        self._entries = None  # otherwise the mapping could not be closed
        if (mapping := self._mapping) is not None:
            self._mapping, self._mapped_bytes = None, 0  # first, so that nobody finds a closed mapping
            mapping.close()


class OffsetIndexFile(IndexFile[OffsetIndex]):
    """Maps offsets to positions in the log file."""

    INDEX = OffsetIndex

    def last(self) -> OffsetPosition:
        """The last entry; the segment's start if there is none."""
        with self._lock:
            return self._index().last()

    def lookup(self, offset: int) -> OffsetPosition:
        """The entry with the largest offset that is not above this one; the segment's start if there is none."""
        with self._lock:
            return self._index().lookup(offset)

    def upper_bound(self, position: int) -> OffsetPosition | None:
        """The first entry at or after a position."""
        with self._lock:
            return self._index().upper_bound(position)


class TimeIndexFile(IndexFile[TimeIndex]):
    """Maps timestamps to offsets. One slot is reserved for the closing entry, with the segment's largest timestamp."""

    INDEX = TimeIndex
    KEPT_SLOTS = 1

    def maybe_append(self, entry: TimestampOffset) -> bool:
        """Append the closing entry, into the reserved slot, if its timestamp is larger than the last one."""
        if not time_index.takes(self.last(), entry):
            return False
        self.append(time_index.encode_entry(entry, self.base_offset))
        return True

    def last(self) -> TimestampOffset:
        """The last entry; if there is none, timestamp -1 at the base offset."""
        with self._lock:
            return self._index().last()

    def lookup(self, timestamp: int) -> TimestampOffset:
        """The entry with the largest timestamp that is not above this one; if there is none, timestamp -1 at the base
        offset."""
        with self._lock:
            return self._index().lookup(timestamp)
