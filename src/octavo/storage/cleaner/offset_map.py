"""The offset map of a cleaning: the last offset of each key in the dirty part, in a limited amount of memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from octavo.config import BrokerConfig
from octavo.errors import ConfigError
from octavo.kernels.integers import INT32_MAX
from octavo.kernels.offset_table import SLOT_BYTES, TABLE_STATE, KeyHash, OffsetTable

_MARKS_SHARE = 16  # marks (see `OffsetTable`) may take one sixteenth of the map's memory, in addition to it


@dataclass(frozen=True, slots=True)
class MapLimits:
    """How much memory the map may take, and how full it may get; `secret` is the key of the hash."""

    memory_bytes: int
    load_factor: float
    key_hash: KeyHash
    secret: bytes

    @classmethod
    def of(cls, config: BrokerConfig, secret: bytes, key_hash: KeyHash = KeyHash.SIPHASH) -> MapLimits:
        """The limits of one thread: log.cleaner.threads threads share the memory. ConfigError if that is too little."""
        share = min(config.log_cleaner_dedupe_buffer_size // config.log_cleaner_threads, INT32_MAX)
        limits = cls(share, config.log_cleaner_io_buffer_load_factor, key_hash, secret)
        if share // SLOT_BYTES * limits.load_factor <= 1:
            raise ConfigError(
                f"an offset map of {share} bytes at a load of {limits.load_factor} holds no key; "
                "increase log.cleaner.dedupe.buffer.size or lower log.cleaner.threads"
            )
        return limits

    def table(self, first_offset: int, end_offset: int) -> OffsetTable:
        """An empty table for the keys at these offsets, with marks unless they would take too much memory.

        Memory is only touched as keys are added.
        """
        memory = np.zeros(self.memory_bytes // SLOT_BYTES * SLOT_BYTES, np.uint8)
        table = OffsetTable.empty(memory, self.load_factor, self.key_hash, self.secret)
        if end_offset - first_offset <= 4 * self.memory_bytes // _MARKS_SHARE:
            table.mark_offsets(first_offset, end_offset)
        return table


class OffsetMap:
    """A filled table. It is pickled as the name of a file (see `spill`), which other processes map into memory."""

    def __init__(self, table: OffsetTable, path: Path | None = None) -> None:
        self.table = table
        self._path = path

    def __reduce__(self) -> tuple[object, ...]:
        if self._path is None:
            raise TypeError("an offset map in memory cannot be pickled; spill it to a file first")
        return _open, (self._path, self.table.state)

    def spill(self, path: Path) -> OffsetMap:
        """Write the map to a file, which `Cleaner` removes afterwards, and return a map backed by that file."""
        table = self.table
        with path.open("wb") as file:
            for part in (table.slots[: table.most_slots * SLOT_BYTES], table.superseded, table.odd):
                part.tofile(file)
        return _open(path, table.state)


def _open(path: Path, state: NDArray[np.int64]) -> OffsetMap:
    data: NDArray[np.uint8] = np.memmap(path, np.uint8, "r")
    slots_end = int(state[TABLE_STATE.index("most_slots")]) * SLOT_BYTES
    marks_end = slots_end + (int(state[TABLE_STATE.index("marks")]) + 7) // 8
    return OffsetMap(OffsetTable(data[:slots_end], state, data[slots_end:marks_end], data[marks_end:]), path)
