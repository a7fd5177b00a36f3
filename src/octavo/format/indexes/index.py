"""What the offset index and the time index have in common: slots, search, and the zeros at the end of a pre-sized
file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.errors import CorruptionError, EncodingError
from octavo.format.entry_layout import EntryLayout
from octavo.kernels.integers import INT32_MAX, INT64_MAX

if TYPE_CHECKING:
    from typing_extensions import Buffer

_Entry = TypeVar("_Entry")

_ZERO_SEARCH_BYTES = 1 << 16
_SLOTS_AT_ONCE = 4096


class SparseIndex(ABC, Generic[_Entry]):
    """The slots of an index file, as a view of the buffer it was decoded from.

    As in Kafka, every whole slot counts as an entry, even the zeros of a pre-sized file that was never trimmed;
    `used()` drops those. A search expects sorted slots; over damaged ones it still terminates, at some slot.
    """

    LAYOUT: ClassVar[EntryLayout]
    KEY: ClassVar[str]  # the field whose values ascend from slot to slot
    __slots__ = ("_content", "base_offset", "cut_bytes", "slots")

    def __init__(self, slots: NDArray[np.void], base_offset: int, cut_bytes: int = 0) -> None:
        self.slots = slots
        self._content = slots.view(np.uint8).data  # the same bytes, faster for a kernel
        self.base_offset = base_offset
        self.cut_bytes = cut_bytes  # bytes of an incomplete entry at the end of the file

    @classmethod
    def decode(cls, data: Buffer, base_offset: int) -> Self:
        """Decode a file's content; the segment's base offset is in the file's name."""
        return cls(cls.LAYOUT.view(data), base_offset, memoryview(data).nbytes % cls.LAYOUT.size)

    @classmethod
    def pre_sized_bytes(cls, segment_index_bytes: int) -> int:
        """The size of a new file: the configured maximum, rounded down to whole entries."""
        return segment_index_bytes - segment_index_bytes % cls.LAYOUT.size

    def __len__(self) -> int:
        return len(self.slots)

    def __getitem__(self, slot: int) -> _Entry:
        """The entry in a slot, with its absolute offset."""
        return self._entry(self.slots[slot].item())

    def __iter__(self) -> Iterator[_Entry]:
        for start in range(0, len(self), _SLOTS_AT_ONCE):
            yield from map(self._entry, self.slots[start : start + _SLOTS_AT_ONCE].tolist())

    @abstractmethod
    def _entry(self, fields: tuple[int, int]) -> _Entry:
        """Make an entry from a slot's fields."""

    def offsets(self) -> NDArray[np.int64]:
        """The absolute offsets of all slots."""
        return self.slots["relative_offset"].astype(np.int64) + self.base_offset

    def is_ascending(self) -> bool:
        """Whether keys ascend, and offsets begin at the base offset or later and never descend; otherwise the index
        cannot be searched."""
        keys, offsets = self.slots[self.KEY], self.slots["relative_offset"]
        in_order = np.all(keys[1:] > keys[:-1]) and np.all(offsets[1:] >= offsets[:-1])
        return bool(in_order and (not len(offsets) or offsets[0] >= 0))

    def zero_tail(self) -> int:
        """How many slots at the end hold only zeros: the unused part of a pre-sized file."""
        content = self.slots.view(np.uint8)
        for end in range(content.size, 0, -_ZERO_SEARCH_BYTES):
            start = max(0, end - _ZERO_SEARCH_BYTES)
            if content[start:end].any():
                last_written = start + int(np.flatnonzero(content[start:end])[-1])
                return len(self) - last_written // self.LAYOUT.size - 1
        return len(self)

    def used(self) -> Self:
        """The index without its zero tail."""
        return type(self)(self.slots[: len(self) - self.zero_tail()], self.base_offset)

    def slots_below(self, offset: int) -> int:
        """How many entries remain when the index is truncated to this offset: those below it."""
        return bisect_left(self.slots["relative_offset"], offset - self.base_offset, key=int)

    def sanity_check(self) -> None:
        """Kafka's check of an index: only the last entry and the length, not the order."""
        if len(self) and self.slots["relative_offset"][-1] < 0:
            offset = self.base_offset + int(self.slots["relative_offset"][-1])
            raise CorruptionError(
                f"last index entry names offset {offset}, expected {self.base_offset} (the base offset) or more",
                position=(len(self) - 1) * self.LAYOUT.size,
            )
        if self.cut_bytes:
            raise CorruptionError(
                f"index of {len(self) * self.LAYOUT.size + self.cut_bytes} bytes, "
                f"expected a multiple of {self.LAYOUT.size}",
                position=len(self) * self.LAYOUT.size,
            )

    def _last_slot_up_to(self, field: str, target: int) -> int:
        position, width = self.LAYOUT.places[field]
        if not -INT64_MAX <= target <= INT64_MAX:
            target = INT64_MAX if target > 0 else -INT64_MAX
        return kernels.last_slot_up_to(self._content, self.LAYOUT.size, position, width, target)


def relative_offset(offset: int, base_offset: int) -> int:
    """An offset as stored in an index entry."""
    if not 0 <= offset - base_offset <= INT32_MAX:
        raise EncodingError(f"offset {offset} is not in the range of an index with base offset {base_offset}")
    return offset - base_offset
